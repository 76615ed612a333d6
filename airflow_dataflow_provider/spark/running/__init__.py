"""Runs a pipeline: from the command to one committed epoch after the other."""
