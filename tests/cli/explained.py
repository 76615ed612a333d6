"""Pipelines to explain: between them they have every kind of part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    INGRESS_TIME,
    LATEST,
    AfterDelay,
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtEpoch,
    AtPattern,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    CalendarWindows,
    Collect,
    Combiner,
    Count,
    CountDistinct,
    DelayWatermark,
    Files,
    First,
    FixedWindows,
    GlobalWindows,
    Last,
    Max,
    Mean,
    Min,
    PaneLog,
    PerElement,
    Pipeline,
    Quantiles,
    Repeat,
    RepeatUntil,
    Risk,
    SequenceOf,
    SessionWindows,
    SlidingWindows,
    SparkColumns,
    StdDev,
    Sum,
    TopK,
    Trigger,
    Variance,
    Vectorised,
    VectorisedCombiner,
    Window,
    WindowStrategy,
    column,
    merge_intersecting,
    one_or_more,
    zero_or_more,
)

departures = (
    Pipeline("departures", Files("flights/*.parquet", event_time="scheduled", arrival_time="departed"))
    .group_by_key_and_window(
        key=("origin", "carrier"),
        window=FixedWindows("1h"),
        trigger=SequenceOf(AtWatermark(97), Repeat(AtWatermark())),
        allowed_lateness="2h",
    )
    .combine(flights=Count(), mean_delay=Mean("delay"))
    .write(PaneLog("panes/departures"))
)

total = (
    Pipeline(
        "total",
        Files(
            "clicks/",
            event_time="at",
            continuous=True,
            watermark=DelayWatermark(idle_after="5m"),
            max_files_per_epoch=10,
            max_rejected_share=0.05,
        ),
    )
    .group_by_key_and_window(
        key="user", window=GlobalWindows(), trigger=AtWatermark(), refinement=DISCARDING, accept=(Risk.MAY_LOSE_DATA,)
    )
    .combine(clicks=Count("page"), total=Sum("amount"), least=Min("amount"), most=Max("amount"))
)

sessions = (
    Pipeline("sessions", Files("views/*.parquet", event_time="seen", arrival_time="received"))
    .par_do(SparkColumns("seconds > 0", minutes="seconds / 60"))
    .group_by_key_and_window(
        key=("user", "advertisement"),
        window=SessionWindows("30m"),
        trigger=SequenceOf(RepeatUntil(AtPeriod("1m"), AtWatermark()), Repeat(AtWatermark())),
        refinement=ACCUMULATING_AND_RETRACTING,
        allowed_lateness="1h",
        output_time=LATEST,
    )
    .combine(watched=Sum("seconds"))
    .group_by_key_and_window(
        key="advertisement",
        window=FixedWindows("1d", offset="6h"),
        trigger=Repeat(AtWatermark()),
        refinement=ACCUMULATING_AND_RETRACTING,
        allowed_lateness="1d",
    )
    .combine(sessions=Count(), least=Min("watched"), middle=Quantiles("watched", (0.5, 0.9)))
)


def readings(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"machine": row["machine"], "kind": row["kind"], "level": float(row["level"])}


def scaled(frame: Any) -> Any:
    return frame


machines = (
    Pipeline("machines", Files("readings/*.csv", event_time=INGRESS_TIME))
    .par_do(
        PerElement(readings, makes={"machine": str, "kind": str, "level": float}, reads=("machine", "kind", "level"))
    )
    .par_do(Vectorised(scaled))
    .assign_windows(CalendarWindows("week", "Europe/Vienna"))
    .group_by_key_and_window(
        key="machine",
        trigger=Repeat(
            AnyOf(
                SequenceOf(
                    AllOf(AtCount(3), AfterDelay("10s")),
                    RepeatUntil(
                        AtPunctuation((column("kind") == "END") | ~column("level").is_null()), AtSignal("report")
                    ),
                ),
                AtPattern(
                    column("kind") == "up",
                    one_or_more(column("level") > 7),
                    zero_or_more(column("kind") == "x"),
                    gaps=True,
                ),
                RepeatUntil(AnyOf(AtBytes(1_000_000, "kind"), AtEpoch()), AtWatermark(99.5)),
            )
        ),
        refinement=DISCARDING,
    )
    .combine(
        spread=Variance("level"),
        deviation=StdDev("level", sample=False),
        levels=Collect("level"),
        first=First("level"),
        last=Last("level"),
        kinds=CountDistinct("kind"),
        about=CountDistinct("kind", exact=False),
        exactly=Quantiles("level", (0.5,), exact=True),
        top=TopK("level", 3),
        by_level=TopK("kind", 2, by="level"),
    )
)

slides = (
    Pipeline("slides", Files("clicks/*.parquet", event_time="at"))
    .group_by_key_and_window(
        key="page", window=SlidingWindows("5m", "1m"), trigger=Repeat(AtCount(100)), refinement=DISCARDING
    )
    .combine(clicks=Count())
)


def frequent(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return row if row["clicks"] >= 10 else None


having = (
    Pipeline("having", Files("clicks/*.parquet", event_time="at"))
    .group_by_key_and_window(key="page", window=FixedWindows("5m"), trigger=Repeat(AtPeriod("1m")))
    .combine(clicks=Count())
    .par_do(PerElement(frequent, makes={"clicks": int}))
    .write(PaneLog("frequent"))
)


@dataclass(frozen=True)
class Validity(WindowStrategy):
    """How long an offer is good, by its own word; offers that overlap are one."""

    merges = True
    columns = ("minutes",)

    def assign(self, event_time: int, key: object = (), row: Mapping[str, Any] | None = None) -> list[Window]:  # noqa: ARG002
        return [Window(event_time, event_time + 60_000_000 * (row or {})["minutes"])]

    def merge(self, windows: Iterable[Window]) -> Sequence[tuple[Window, frozenset[Window]]]:
        return merge_intersecting(windows)


@dataclass(frozen=True)
class Never(Trigger):
    """A trigger of one's own."""

    def initial(self) -> None: ...

    def should_fire(self, state: None, now: object) -> bool:  # noqa: ARG002
        return False

    def on_fire(self, state: None, now: object) -> tuple[None, bool]:  # noqa: ARG002
        return None, False


@dataclass(frozen=True)
class Sharpe(VectorisedCombiner):
    """Expressions of one's own."""

    column: str

    def lift(self) -> Any: ...

    def fold(self, accumulators: Any) -> Any: ...

    def result(self, accumulators: Any) -> Any: ...


@dataclass(frozen=True)
class Product(Combiner):
    """A combiner that does not say the type of its result, which the engine must know."""

    column: str

    def create(self) -> int:
        return 1

    def add(self, accumulator: int, value: int) -> int:
        return accumulator * value

    def merge(self, left: int, right: int) -> int:
        return left * right

    def extract(self, accumulator: int) -> int:
        return accumulator


own = (
    Pipeline("own", Files("offers/", event_time="at"))
    .group_by_key_and_window(
        key="shop",
        window=Validity(),
        trigger=AnyOf(Never(), AtWatermark(98.5)),
        refinement=ACCUMULATING_AND_RETRACTING,
        allowed_lateness="1h",
        accept=(Risk.MAY_LOSE_DATA, Risk.NEEDS_RETRACTION),
    )
    .combine(product=Product("amount"))
)
PIPELINES = {
    "departures": departures,
    "total": total,
    "sessions": sessions,
    "machines": machines,
    "slides": slides,
    "own": own,
    "having": having,
}
