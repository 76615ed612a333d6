"""What both sides share: the groupings as stages, and rows to state partitions."""
