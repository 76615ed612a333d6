"""The preparation of a Python worker process, once, before its first task."""

from __future__ import annotations

import gc
from functools import cache


@cache
def freeze_imports() -> None:
    """Take what is imported by now out of the garbage collector's sight.

    PySpark's daemon runs a full collection after every task of a reused worker. With the data frame libraries imported
    it looks at some hundred thousand objects that never go away, which took about 100 ms a task, more than the task
    itself (``docs/decisions/0002-worker-garbage.md``).
    """
    gc.collect()
    gc.freeze()
