"""What happens in a world, step by step: plain values that print as the code that makes them.

A script and nothing else decides what a world does. A script that fails becomes a test as it is printed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Row = tuple[float | None, str | None, int | None, int | None, float | None]
"""When it happened (seconds after the begin of the world; None: malformed), ``key``, ``site``, ``whole``, ``part``."""

Fault = tuple[int | str, str]
"""At which call of a process at the earliest, or at the first call with these words, and what happens to it then
(:mod:`tests.simulate.faults`)."""

StoreKind = Literal["disk", "objects"]


@dataclass(frozen=True, slots=True)
class Offer:
    """A file appears in the source.

    Attributes:
        name: of the file.
        rows: what is in it.
        modified: its modification time, in seconds after the present one.
    """

    name: str
    rows: tuple[Row, ...]
    modified: float = 0.0


@dataclass(frozen=True, slots=True)
class Vanish:
    """A file of the source, or with ``*`` all of them, are gone."""

    name: str


@dataclass(frozen=True, slots=True)
class Return:
    """A file of the source, or with ``*`` all of them, are back as they were; ``touched``: with another time."""

    name: str
    touched: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A file of the source has other rows now."""

    name: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Start:
    """A driver starts.

    Attributes:
        driver: its name.
        mode: ``batch``, ``micro-batch`` or ``streaming``.
        interval: of a batch, in seconds after the begin of the world.
        take_over: fence a driver that lives.
        input_share: of a batch: publish once so much of the input is read.
        skew: by how many seconds its clock is wrong.
        host: the machine that it runs on.
        faults: what happens to it.
    """

    driver: str
    mode: str
    interval: tuple[float, float] | None = None
    take_over: bool = False
    input_share: float | None = None
    skew: float = 0.0
    host: str = "east"
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Everything goes on until no batch and no micro-batch runs any more."""


@dataclass(frozen=True, slots=True)
class Go:
    """Everything goes on for so many calls."""

    calls: int


@dataclass(frozen=True, slots=True)
class Pass:
    """So many seconds pass."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ClockBack:
    """The clock of a driver jumps back by so many seconds."""

    driver: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Kill:
    """A driver is killed."""

    driver: str


@dataclass(frozen=True, slots=True)
class PowerCut:
    """All machines lose power: every process dies, and what was not synced may be gone.

    Attributes:
        at_its_worst: it is gone.
    """

    at_its_worst: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """A user asks for a stop or a drain, and waits until there is an answer."""

    what: Literal["stop", "drain"]


@dataclass(frozen=True, slots=True)
class Signal:
    """A user raises a signal; ``as_file``: by putting a file of its name into the state."""

    name: str
    as_file: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """A sensor asks whether a watermark has reached a time, in seconds after the begin of the world."""

    target: float
    percentile: float = 100.0
    skew: float = 0.0


@dataclass(frozen=True, slots=True)
class Backup:
    """Somebody copies the state folder, while nothing writes to it."""


@dataclass(frozen=True, slots=True)
class Restore:
    """Somebody puts a backup back: the whole state, or one folder of it."""

    part: str = ""


Step = (
    Offer | Vanish | Return | Change | Start | Wait | Go | Pass | ClockBack | Kill | PowerCut | Ask | Signal | Look
    | Backup | Restore
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Script:
    """A world from its begin to its end.

    Attributes:
        pipeline: what all drivers run, as the code that makes it.
        steps: what happens.
        store: whether the state lives on a disk or on an object store.
        schedule: decides who is next, how long each call takes, and names that are made up.
    """

    pipeline: str
    steps: tuple[Step, ...]
    store: StoreKind = "disk"
    schedule: int = 0

    def written(self) -> str:
        """The script as a test file can hold it."""
        lines = ["Script(", f"    {self.pipeline!r},", "    ("]
        lines += [f"        {step!r}," for step in self.steps]
        return "\n".join([*lines, "    ),", f"    store={self.store!r},", f"    schedule={self.schedule!r},", ")"])
