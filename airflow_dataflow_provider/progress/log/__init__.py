"""The epoch log: plans, results and commits of epochs."""
