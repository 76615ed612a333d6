"""Whose state it is, and who drives it."""
