"""What can go wrong in a world, and how often it really did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

AT_ANY_CALL: Final = ("kill", "pause", "power cut")
"""Happen at whatever call is next: the process dies, sleeps for an hour, or all machines lose power."""
AT_A_WRITE: Final = ("write fails", "answer lost", "write late", "kill after write")
"""Happen at the next write: nothing is written; it is, and the writer hears of an error; it is written later, and the
writer hears of an error now; it is, and the writer dies."""
AT_A_READ: Final = ("read fails",)
"""Happens at the next call that changes nothing: it has no answer."""
AT_A_LISTING: Final = ("stale listing",)
"""Happens at the next listing of the source: it is one of half a minute ago, as network disks give it."""
ON_OBJECTS_ONLY: Final = ("answer lost", "write late")
ON_DISK_ONLY: Final = ("power cut",)

KINDS: Final = (
    *AT_ANY_CALL,
    *AT_A_WRITE,
    *AT_A_READ,
    *AT_A_LISTING,
    "unsynced lost",
    "file vanishes",
    "file returns",
    "file changes",
    "file from the future",
    "malformed rows",
    "clock skewed",
    "clock back",
    "second driver",
    "driver fenced",
    "backup restored",
    "part of a backup restored",
)
"""Every kind of fault; a search that never injected one of them proves nothing about it."""


class Faults:
    """Counts what was really injected."""

    def __init__(self, counts: Mapping[str, int] | None = None) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(KINDS, 0))
        self.counts.update(counts or {})

    def happened(self, kind: str) -> None:
        """One more."""
        if kind not in KINDS:
            raise ValueError(kind)
        self.counts[kind] += 1


class SimulatedKill(BaseException):
    """The process that gets it has died: whatever it still does has no effect."""


class SimulatedFailure(OSError):  # noqa: N818 - as the kill beside it
    """What a store answers when it fails."""
