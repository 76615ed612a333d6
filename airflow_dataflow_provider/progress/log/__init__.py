"""The epoch log: what was planned, what came of it, what is committed."""
