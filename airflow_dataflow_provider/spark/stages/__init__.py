"""Shared by map side and reduce side: the groupings as stages, and rows to state partitions."""
