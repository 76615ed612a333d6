"""Scripts that show one thing each: what attacks have found, and what searches have found since."""

from __future__ import annotations

from tests.simulate.script import (
    Ask,
    Backup,
    Change,
    Go,
    Kill,
    Look,
    Offer,
    Pass,
    PowerCut,
    Restore,
    Return,
    Row,
    Script,
    Start,
    Vanish,
    Wait,
)
from tests.simulate.shrinking import SIMPLER

SOME: tuple[Row, ...] = ((0.0, "a", 1, 1, 0.5), (20.0, "b", 1, 2, 0.25))
MORE: tuple[Row, ...] = ((30.0, "a", 1, 3, 0.5), (70.0, "b", 1, 4, 0.25))
LATER: tuple[Row, ...] = ((130.0, "a", 1, 5, 0.5),)

DIES_BEFORE_ITS_PLAN = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("first", "micro-batch"),
        Wait(),
        Offer("1.parquet", MORE),
        Start("second", "micro-batch", faults=(("create epochs", "kill"),)),
        Wait(),
        Start("third", "micro-batch"),
        Wait(),
    ),
)
"""What was listed and not planned is listed again."""

INPUT_IS_AWAY_AT_A_RESTART = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("first", "micro-batch"),
        Wait(),
        Offer("1.parquet", MORE),
        Start("second", "micro-batch", faults=(("plan.json", "kill after write"),)),
        Wait(),
        Vanish("*"),
        Start("third", "micro-batch"),
        Wait(),
        Return("*"),
        Start("fourth", "micro-batch"),
        Wait(),
    ),
)
"""A mount is not up when the driver starts again within an epoch."""

AN_INTERVAL_DIES = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("interval", "batch", (0.0, 60.0), faults=(("plan.json", "kill after write"),)),
        Wait(),
        Start("after", "micro-batch"),
        Wait(),
    ),
)
"""An interval dies within its epoch, and nothing waits for it."""

A_GATE_BEFORE_THE_FIRST_INTERVAL = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("interval", "batch", (120.0, 240.0)),
        Wait(),
        Look(60.0),
        Look(240.0),
        Start("later", "batch", (300.0, 360.0)),
        Wait(),
        Look(300.0),
    ),
)
"""What no interval has computed opens no gate."""

A_STOP_WHILE_A_STREAM_STARTS = Script(
    SIMPLER,
    (Offer("0.parquet", SOME), Start("stream", "streaming"), Ask("stop"), Pass(300.0)),
    schedule=1,
)
"""A stop that is asked before a stream has claimed ends it all the same."""

A_STOP_WHILE_A_STREAM_SLEEPS = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("stream", "streaming", faults=(("prepared.json", "pause"),)),
        Pass(300.0),
        Ask("stop"),
        Pass(7_200.0),
    ),
)
"""A stream that was silent for long enough to be lost does not go on when it wakes."""

A_STOP_BETWEEN_A_DEATH_AND_A_START = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("batch", "batch", faults=(("plan.json", "kill after write"),)),
        Wait(),
        Start("stream", "streaming"),
        Ask("stop"),
        Pass(300.0),
    ),
)
"""A stop addresses a driver that is dead already, while a stream starts: the stream ends, too."""

A_SOURCE_THAT_DOES_NOT_ANSWER = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("looks", "micro-batch", faults=(("look at source", "read fails"),)),
        Wait(),
        Start("lists", "micro-batch", faults=(("list source", "read fails"),)),
        Wait(),
    ),
)
"""A run that cannot look at its source says so, with a code."""

A_FILE_FROM_THE_FUTURE = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME, modified=6e9),
        Start("first", "micro-batch"),
        Wait(),
        Offer("1.parquet", MORE),
        Start("second", "micro-batch"),
        Wait(),
    ),
)
"""One wrong modification time hides no other file."""

POWER_IS_CUT_AFTER_AN_EPOCH = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("first", "batch"),
        Wait(),
        PowerCut(at_its_worst=True),
        Offer("1.parquet", MORE),
        Start("second", "batch"),
        Wait(),
    ),
)
"""What an epoch's documents name is there after a power cut."""

TWO_DRIVERS = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("one", "streaming", faults=(("prepared.json", "pause"),)),
        Pass(120.0),
        Offer("1.parquet", MORE),
        Start("two", "streaming", host="west"),
        Pass(120.0),
        Offer("2.parquet", LATER),
        Pass(7_200.0),
    ),
)
"""A driver is taken for lost, another one takes over, and the first one wakes."""

A_WHOLE_BACKUP = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("first", "micro-batch"),
        Wait(),
        Backup(),
        Offer("1.parquet", MORE),
        Start("second", "micro-batch"),
        Wait(),
        Restore(),
        Offer("2.parquet", LATER),
        Start("third", "micro-batch"),
        Wait(),
    ),
)
"""After a backup is restored, what was read since is read again, once."""

A_FILE_CHANGES_AFTER_IT_WAS_READ = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("first", "micro-batch"),
        Wait(),
        Change("0.parquet", MORE),
        Start("second", "micro-batch"),
        Wait(),
        Kill("second"),
        Go(5),
    ),
)
"""Its rows are not read twice."""

SLEEPS_BEFORE_ITS_FIRST_EPOCH = Script(
    SIMPLER,
    (
        Offer("0.parquet", SOME),
        Start("one", "streaming", faults=(("definition.json", "pause"),)),
        Pass(300.0),
        Start("two", "streaming", host="west"),
        Pass(60.0),
        Ask("drain"),
        Pass(7_200.0),
    ),
)
"""A driver wakes that had begun nothing yet: what another one has begun and published since stays."""

NOTHING_OPEN_WHILE_THE_WATERMARK_RISES = Script(
    "Pipeline('generated', Files('source/*.parquet', event_time='happened', watermark=DelayWatermark(idle_after='1m')))"
    ".group_by_key_and_window(key=('key', 'site'), window=SessionWindows('1us'), trigger=Repeat(AtCount(1)), "
    "refinement=ACCUMULATING_AND_RETRACTING, accept=(Risk.MAY_LOSE_DATA, Risk.MAY_NEVER_FIRE))"
    ".combine(aggregate_0=Min('whole')).group_by_key_and_window(key='key', window=FixedWindows('20s'), "
    "trigger=Repeat(AtCount(1)), refinement=ACCUMULATING_AND_RETRACTING, "
    "accept=(Risk.MAY_LOSE_DATA, Risk.MAY_NEVER_FIRE)).combine(aggregate_0=Count())",
    (
        Offer("0.parquet", ((0.0, None, 1, 1, 0.0),)),
        Start("stream", "streaming"),
        Pass(120.0),
        Offer("1.parquet", ((170.0, "a", 1, 0, 0.25),)),
    ),
)
"""The second grouping is told of the watermark also where the first one has no window open."""

SCRIPTS: dict[str, Script] = {name: value for name, value in dict(vars()).items() if isinstance(value, Script)}
"""All of them, by name."""
