"""What goes through the shuffle."""

from __future__ import annotations

Shuffled = tuple[int, tuple[str, bytes]]
"""A state partition, and a blob of partial accumulators with the first file that it comes from; or, for partition 0, a
map task's report."""
