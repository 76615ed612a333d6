"""What cannot mean anything is refused where it is written, with a stable code."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import airflow_dataflow_provider.model
from airflow_dataflow_provider import (
    ACCUMULATING,
    ACCUMULATING_AND_RETRACTING,
    DISCARDING,
    INGRESS_TIME,
    LATEST,
    AfterDelay,
    AllOf,
    AnyOf,
    AtBytes,
    AtCount,
    AtPattern,
    AtPeriod,
    AtPunctuation,
    AtSignal,
    AtWatermark,
    BatchPolicies,
    BoundedDelay,
    CalendarWindows,
    Count,
    DataflowError,
    DelayWatermark,
    Files,
    FixedWindows,
    GlobalWindows,
    Mean,
    PaneLog,
    PerElement,
    Pipeline,
    Repeat,
    RepeatUntil,
    RuntimeMode,
    SequenceOf,
    SessionWindows,
    ShuffleMode,
    SlidingWindows,
    SparkColumns,
    Sum,
    Vectorised,
    Window,
    column,
    optional,
    zero_or_more,
)
from airflow_dataflow_provider.model.hashing import key_hash
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import Boundedness
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.time import check_element_time, duration, to_micros
from airflow_dataflow_provider.model.watermarks import WatermarkCurve

BARE = Pipeline("p", Files("a", event_time="t"))
COUNTING = BARE.group_by_key_and_window(key="k", window=GlobalWindows()).combine(n=Count())


def grouped(**changed: Any) -> Any:
    return BARE.group_by_key_and_window(**{"key": "k", "window": GlobalWindows(), **changed})


def planned(**changed: Any) -> Any:
    return grouped(window=FixedWindows("1h"), **changed).combine(n=Count())


def regrouped(first: Any, **changed: Any) -> Any:
    """A second grouping that would be fine, but for what is changed."""
    return first.group_by_key_and_window(
        **{"key": "k", "window": FixedWindows("1h"), "refinement": ACCUMULATING_AND_RETRACTING, **changed}
    ).combine(n=Sum("n"))


X = column("x") == 1
DAYS = FixedWindows("1d")
LATE = {"trigger": Repeat(AtWatermark()), "allowed_lateness": "1h"}


def checked(policies: BatchPolicies, **changed: Any) -> None:
    plan = grouped(window=FixedWindows("1h"), **changed).combine(n=Count())
    policies.check(plan, RuntimeMode.BATCH, has_interval=False)


REFUSALS: list[tuple[str, Callable[[], object]]] = [
    ("DEFINITION_NAME", lambda: Pipeline("", BARE.source)),
    ("DEFINITION_NAME", lambda: Pipeline("9lives", BARE.source)),
    ("DEFINITION_NAME", lambda: Pipeline("a/b", BARE.source)),
    ("DEFINITION_NAME", lambda: Pipeline(None, BARE.source)),  # type: ignore[arg-type]
    ("DEFINITION_SOURCE", lambda: Pipeline("p", "events/*.parquet")),  # type: ignore[arg-type]
    ("DEFINITION_SOURCE", lambda: Files("", event_time="t")),
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="")),
    ("DEFINITION_SOURCE", lambda: Files("a", event_time=None)),  # type: ignore[arg-type]
    ("DEFINITION_SOURCE", lambda: Files("a.xlsx", event_time="t")),
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="t", time_zone="Mars/Olympus")),
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="t", max_files_per_epoch=0)),
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="t", max_files_per_epoch=2.5)),  # type: ignore[arg-type]
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="t", max_files_per_epoch="3")),  # type: ignore[arg-type]
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="t", max_rejected_share=1.5)),
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="t", max_rejected_share="5%")),  # type: ignore[arg-type]
    ("DEFINITION_SOURCE", lambda: Files("a", event_time="t", continuous="no")),  # type: ignore[arg-type]
    ("DEFINITION_WATERMARK", lambda: DelayWatermark(plausible=0)),
    ("DEFINITION_WATERMARK", lambda: DelayWatermark(horizons=())),
    ("DEFINITION_WATERMARK", lambda: DelayWatermark(horizons=("-1h", "1h"))),
    ("DEFINITION_WATERMARK", lambda: DelayWatermark(idle_after=0)),
    ("DEFINITION_WATERMARK", lambda: DelayWatermark("10m")),  # type: ignore[arg-type]
    ("DEFINITION_WATERMARK", lambda: BoundedDelay("-1s")),
    ("DEFINITION_WATERMARK", lambda: BoundedDelay("10m", idle_after=0)),
    ("DEFINITION_WATERMARK", lambda: Files("a", event_time="t", watermark="10m")),  # type: ignore[arg-type]
    ("DEFINITION_WATERMARK", lambda: Files("a", event_time=INGRESS_TIME, watermark=BoundedDelay("10m"))),
    ("DEFINITION_KEY", lambda: grouped(key=())),
    ("DEFINITION_KEY", lambda: grouped(key="")),
    ("DEFINITION_KEY", lambda: grouped(key=("a", "a"))),
    ("DEFINITION_KEY", lambda: grouped(key=(1,))),
    ("DEFINITION_KEY", lambda: key_hash((1.5,))),
    ("DEFINITION_KEY", lambda: key_hash((b"bytes",))),
    ("DEFINITION_PAR_DO", lambda: BARE.par_do(len)),  # type: ignore[arg-type]
    ("DEFINITION_PAR_DO", lambda: COUNTING.write(PaneLog()).par_do(SparkColumns("x > 1"))),
    ("DEFINITION_PAR_DO", SparkColumns),
    ("DEFINITION_PAR_DO", lambda: SparkColumns("")),
    ("DEFINITION_PAR_DO", lambda: SparkColumns(hours=2)),  # type: ignore[arg-type]
    ("DEFINITION_PAR_DO", lambda: SparkColumns(_event="x")),
    ("DEFINITION_PAR_DO", lambda: Vectorised("len")),  # type: ignore[arg-type]
    ("DEFINITION_PAR_DO", lambda: Vectorised(len, reads="x")),  # type: ignore[arg-type]
    ("DEFINITION_PAR_DO", lambda: Vectorised(len, reads=("x", ""))),
    ("DEFINITION_PAR_DO", lambda: PerElement(None, {"x": int})),  # type: ignore[arg-type]
    ("DEFINITION_PAR_DO", lambda: PerElement(dict, {})),
    ("DEFINITION_PAR_DO", lambda: PerElement(dict, {"x": list})),
    ("DEFINITION_PAR_DO", lambda: PerElement(dict, ["x"])),  # type: ignore[arg-type]
    ("DEFINITION_PAR_DO", lambda: PerElement(dict, {"x": int}, reads=["x"])),  # type: ignore[arg-type]
    ("DEFINITION_PREDICATE", lambda: column("")),
    ("DEFINITION_PREDICATE", lambda: column(None)),  # type: ignore[arg-type]
    ("DEFINITION_PREDICATE", lambda: column("x") == None),  # noqa: E711 - the point
    ("DEFINITION_PREDICATE", lambda: column("x") < column("y")),
    ("DEFINITION_PREDICATE", lambda: column("x").is_in((1, None))),
    ("DEFINITION_PREDICATE", lambda: column("x").is_in("END")),
    ("DEFINITION_PREDICATE", lambda: X and X),
    ("DEFINITION_PREDICATE", lambda: not X),
    ("DEFINITION_PREDICATE", lambda: X & "y"),  # type: ignore[operator]
    ("DEFINITION_PREDICATE", lambda: AtPunctuation("END")),  # type: ignore[arg-type]
    ("DEFINITION_PREDICATE", lambda: AtPattern("END")),  # type: ignore[arg-type]
    ("DEFINITION_WINDOW", lambda: grouped(window="1h")),
    ("DEFINITION_WINDOW", lambda: grouped(window=None)),
    ("DEFINITION_WINDOW", lambda: SlidingWindows(0, "1m")),
    ("DEFINITION_WINDOW", lambda: SlidingWindows("1m", 0)),
    ("DEFINITION_WINDOW", lambda: SessionWindows("-1m")),
    ("DEFINITION_WINDOW", lambda: CalendarWindows("fortnight")),
    ("DEFINITION_WINDOW", lambda: CalendarWindows("day", "Mars/Olympus")),
    ("DEFINITION_WINDOW", lambda: CalendarWindows("day", None)),  # type: ignore[arg-type]
    ("DEFINITION_WINDOW", lambda: BARE.assign_windows("1h")),  # type: ignore[arg-type]
    ("DEFINITION_WINDOW", lambda: BARE.assign_windows(FixedWindows("1h", shifted_by_key=True))),
    ("DEFINITION_WINDOW", lambda: BARE.assign_windows(FixedWindows("1h")).assign_windows(FixedWindows("1h"))),
    (
        "DEFINITION_WINDOW",
        lambda: BARE.assign_windows(FixedWindows("1h")).group_by_key_and_window(key="k", window=FixedWindows("1h")),
    ),
    ("DEFINITION_WINDOW", lambda: FixedWindows(0)),
    ("DEFINITION_WINDOW", lambda: FixedWindows("-1h")),
    ("DEFINITION_WINDOW", lambda: Window(5, 5)),
    ("DEFINITION_WINDOW", lambda: Window(6, 5)),
    ("DEFINITION_TRIGGER", lambda: grouped(trigger=AtWatermark)),
    ("DEFINITION_TRIGGER", lambda: Repeat("often")),  # type: ignore[arg-type]
    ("DEFINITION_TRIGGER", SequenceOf),
    ("DEFINITION_TRIGGER", lambda: SequenceOf(AtWatermark(), None)),  # type: ignore[arg-type]
    ("DEFINITION_TRIGGER", AnyOf),
    ("DEFINITION_TRIGGER", AllOf),
    ("DEFINITION_TRIGGER", lambda: AllOf(AtCount(1), X)),  # type: ignore[arg-type]
    ("DEFINITION_TRIGGER", lambda: RepeatUntil(AtCount(1), None)),  # type: ignore[arg-type]
    ("DEFINITION_TRIGGER", lambda: AtPeriod(0)),
    ("DEFINITION_TRIGGER", lambda: AfterDelay("-1s")),
    ("DEFINITION_TRIGGER", lambda: AtCount(0)),
    ("DEFINITION_TRIGGER", lambda: AtCount(True)),
    ("DEFINITION_TRIGGER", lambda: AtCount(1.0)),  # type: ignore[arg-type]
    ("DEFINITION_TRIGGER", lambda: AtBytes(0, "x")),
    ("DEFINITION_TRIGGER", lambda: AtBytes(10)),
    ("DEFINITION_TRIGGER", lambda: AtBytes(10, "")),
    ("DEFINITION_TRIGGER", AtPattern),
    ("DEFINITION_TRIGGER", lambda: AtPattern(optional(X), zero_or_more(X))),
    ("DEFINITION_TRIGGER", lambda: AtPattern(*[X] * 63)),
    ("DEFINITION_TRIGGER", lambda: AtSignal("")),
    ("DEFINITION_TRIGGER", lambda: AtSignal("../etc")),
    ("DEFINITION_PERCENTILE", lambda: AtWatermark(0)),
    ("DEFINITION_PERCENTILE", lambda: AtWatermark(0.97)),
    ("DEFINITION_PERCENTILE", lambda: AtWatermark(100.5)),
    ("DEFINITION_PERCENTILE", lambda: AtWatermark(float("nan"))),
    ("DEFINITION_PERCENTILE", lambda: AtWatermark(True)),
    ("DEFINITION_PERCENTILE", lambda: AtWatermark("most")),  # type: ignore[arg-type]
    ("DEFINITION_REFINEMENT", lambda: grouped(refinement="accumulating")),
    ("DEFINITION_OUTPUT_TIME", lambda: grouped(output_time="latest")),
    ("DEFINITION_LATENESS", lambda: grouped(allowed_lateness="-1s")),
    ("DEFINITION_RISK", lambda: grouped(accept=("everything",))),
    ("DEFINITION_RISK", lambda: grouped(accept="may-lose-everything")),
    ("DEFINITION_RISK", lambda: grouped(accept=7)),
    ("DEFINITION_MAY_LOSE_DATA", lambda: planned(trigger=AtCount(5))),
    ("DEFINITION_MAY_NEVER_FIRE", lambda: planned(trigger=SequenceOf(Repeat(AtCount(5)), AtWatermark()))),
    ("DEFINITION_NEEDS_RETRACTION", lambda: grouped(window=SessionWindows("1m"), **LATE).combine(n=Count())),
    ("DEFINITION_NEEDS_RETRACTION", lambda: regrouped(planned(refinement=DISCARDING, **LATE))),
    ("DEFINITION_NEEDS_RETRACTION", lambda: regrouped(planned(**LATE), refinement=ACCUMULATING)),
    ("DEFINITION_COMBINER", lambda: grouped().combine()),
    ("DEFINITION_COMBINER", lambda: grouped().combine(n=Count)),
    ("DEFINITION_COMBINER", lambda: grouped().combine(k=Count())),
    ("DEFINITION_COMBINER", lambda: grouped().combine(window_start=Count())),
    ("DEFINITION_COMBINER", lambda: grouped().combine(_n=Count())),
    ("DEFINITION_COMBINER", lambda: grouped(key="epoch").combine(n=Count())),
    ("DEFINITION_COMBINER", lambda: grouped(key="_k").combine(n=Count())),
    ("DEFINITION_COMBINER", lambda: Sum("")),
    ("DEFINITION_COMBINER", lambda: Mean(None)),  # type: ignore[arg-type]
    ("DEFINITION_COMBINER", lambda: Count(7)),  # type: ignore[arg-type]
    ("DEFINITION_GROUPINGS", lambda: regrouped(COUNTING)),  # a result of the global window has no event time
    ("DEFINITION_GROUPINGS", lambda: regrouped(planned(**LATE), window=SessionWindows("1m"))),
    ("DEFINITION_GROUPINGS", lambda: regrouped(planned(), key="user")),
    ("DEFINITION_GROUPINGS", lambda: regrouped(planned().write(PaneLog()))),
    ("DEFINITION_GROUPINGS", lambda: regrouped(regrouped(planned(**LATE), output_time=LATEST), key="k", window=DAYS)),
    ("DEFINITION_INCOMPLETE", lambda: BARE.grouping),
    ("DEFINITION_SINK", lambda: BARE.write(PaneLog())),
    ("DEFINITION_SINK", lambda: COUNTING.write("panes")),  # type: ignore[arg-type]
    ("DEFINITION_SINK", lambda: COUNTING.write(PaneLog()).write(PaneLog("more"))),
    ("DEFINITION_SINK", lambda: PaneLog("")),
    ("DEFINITION_CURVE", lambda: WatermarkCurve(())),
    ("DEFINITION_CURVE", lambda: WatermarkCurve(((97.0, 5),))),
    ("DEFINITION_CURVE", lambda: WatermarkCurve(((97.0, 5), (100.0, 6)))),
    ("DEFINITION_CURVE", lambda: WatermarkCurve(((97.0, 5), (97.0, 5), (100.0, 4)))),
    ("TIME_BAD_DURATION", lambda: duration("soon")),
    ("TIME_BAD_DURATION", lambda: duration("")),
    ("TIME_BAD_DURATION", lambda: duration("1h-5m")),
    ("TIME_BAD_DURATION", lambda: duration("5 parsecs")),
    ("TIME_BAD_DURATION", lambda: duration("0.5us")),
    ("TIME_BAD_DURATION", lambda: duration(1.5)),  # type: ignore[arg-type]
    ("TIME_BAD_DURATION", lambda: duration(True)),
    ("TIME_BAD_DURATION", lambda: duration(None)),  # type: ignore[arg-type]
    ("TIME_OUT_OF_RANGE", lambda: check_element_time(2**62, "the event time")),
    ("TIME_OUT_OF_RANGE", lambda: check_element_time(to_micros("0999-12-31T23:59:59Z"), "the event time")),
    ("DEFINITION_WINDOW", lambda: Window(0, 2**60)),
    ("DEFINITION_WINDOW", lambda: Window(-(2**60), 0)),
    ("TIME_NAIVE", lambda: to_micros("2013-01-01T12:00:00")),
    ("TIME_NAIVE", lambda: to_micros("2013-01-01")),
    ("TIME_NAIVE", lambda: to_micros(dt.datetime(2013, 1, 1))),  # noqa: DTZ001 - the point
    ("TIME_UNPARSABLE", lambda: to_micros("yesterday")),
    ("TIME_UNPARSABLE", lambda: to_micros("2013-02-30T00:00:00Z")),
    ("TIME_UNPARSABLE", lambda: to_micros(dt.date(2013, 1, 1))),  # type: ignore[arg-type]
    ("SUBMIT_MODE", lambda: RuntimeMode.parse("sometimes")),
    ("SUBMIT_UNBOUNDED_BATCH", lambda: RuntimeMode.BATCH.resolve(Boundedness.UNBOUNDED, has_interval=False)),
    ("SUBMIT_INTERVAL_MODE", lambda: RuntimeMode.STREAMING.resolve(Boundedness.UNBOUNDED, has_interval=True)),
    ("SUBMIT_INTERVAL_MODE", lambda: RuntimeMode.MICRO_BATCH.resolve(Boundedness.BOUNDED, has_interval=True)),
    ("SUBMIT_INTERVAL", lambda: Interval(1, 1)),
    ("SUBMIT_POLICY", lambda: BatchPolicies(processing_time_at_end_of_input="sometimes")),  # type: ignore[arg-type]
    ("SUBMIT_INTERVAL", lambda: Interval(1, 1)),
    ("SUBMIT_POLICY", lambda: BatchPolicies(shuffle_mode=None)),  # type: ignore[arg-type]
    (
        "SUBMIT_PROCESSING_TIME",
        lambda: checked(BatchPolicies(allow_processing_time=False), trigger=Repeat(AtPeriod("1m"))),
    ),
    ("SUBMIT_SHUFFLE_MODE", lambda: checked(BatchPolicies(shuffle_mode=ShuffleMode.ALL_EXCHANGES_PIPELINED))),
    ("SUBMIT_INPUT_SHARE", lambda: checked(BatchPolicies(input_share=0.95))),
]


@pytest.mark.parametrize(("code", "write"), REFUSALS, ids=[f"{code}-{n}" for n, (code, _) in enumerate(REFUSALS)])
def test_it_is_refused_with_its_code(code: str, write: Callable[[], object]) -> None:
    with pytest.raises(DataflowError) as caught:
        write()
    assert caught.value.code == code
    assert str(caught.value).startswith(f"[{code}] ")


def test_every_refusal_of_the_model_is_tested() -> None:
    [folder] = airflow_dataflow_provider.model.__path__
    raised = {code for file in Path(folder).rglob("*.py") for code in re.findall(r'code="([A-Z_]+)"', file.read_text())}
    composed = {f"DEFINITION_{what}" for what in ("WINDOW", "TRIGGER", "REFINEMENT", "OUTPUT_TIME")}
    risks = {f"DEFINITION_{risk.name}" for risk in Risk}
    assert raised | composed | risks == {code for code, _ in REFUSALS}


def test_a_definition_in_words_of_its_own_says_what_to_write_instead() -> None:
    with pytest.raises(DataflowError) as caught:
        grouped(refinement=ACCUMULATING.value)
    assert "'accumulating' is not a Refinement" in caught.value.what
    assert caught.value.hint
