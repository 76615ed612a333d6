"""The elements of the shuffle."""

from __future__ import annotations

from typing import Final

Shuffled = tuple[int, tuple[str, bytes]]
"""A state partition, and a blob of rows with the first file that they come from; or a message, which is no row."""
MESSAGE: Final = "\0message"
"""In the place of a blob's file: the blob is a message (:mod:`.task_errors`). No file can be called this."""
