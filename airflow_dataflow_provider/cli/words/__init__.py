"""Definitions in words: each function takes a part of a pipeline and gives sentences about it."""
