"""Hypothesis strategies for all that the model has: every window, every trigger, and signals in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from airflow_dataflow_provider import (
    ACCUMULATING,
    EARLIEST,
    END_OF_WINDOW,
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
    Count,
    Files,
    FixedWindows,
    GlobalWindows,
    Pipeline,
    Refinement,
    Repeat,
    RepeatUntil,
    Risk,
    SequenceOf,
    SessionWindows,
    SlidingWindows,
    Sum,
    Trigger,
    WindowStrategy,
    column,
    one_or_more,
)
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.testing import strategies as simple
from airflow_dataflow_provider.testing.strategies import elements, latenesses

FIXED: SearchStrategy[WindowStrategy] = st.sampled_from(
    [
        FixedWindows("7s"),
        FixedWindows("1m", offset="13s"),
        FixedWindows("2m", shifted_by_key=True),
        SlidingWindows("1m", "20s"),
        SlidingWindows("30s", "1m"),
        CalendarWindows("day", "Europe/Rome"),
    ]
)
SESSIONS: SearchStrategy[WindowStrategy] = st.sampled_from([SessionWindows("20s"), SessionWindows("2m")])
WINDOWS = FIXED | SESSIONS | st.just(GlobalWindows())

LEAVES: SearchStrategy[Trigger] = st.sampled_from(
    [
        AtWatermark(), AtWatermark(), AtWatermark(90), AtPeriod("1m"), AfterDelay("30s"), AtEpoch(), AtSignal("go"),
        AtCount(1), AtCount(3), AtBytes(20, "whole", "key"), AtPunctuation(column("whole") > 0),
        AtPattern(column("whole") > 0, one_or_more(column("whole") <= 0)),
    ]
)  # fmt: skip
TRIGGERS: SearchStrategy[Trigger] = st.recursive(
    LEAVES,
    lambda below: st.one_of(
        st.builds(Repeat, below),
        st.builds(RepeatUntil, below, below),
        *(
            st.lists(below, min_size=1, max_size=3).map(lambda parts, kind=kind: kind(*parts))
            for kind in (AnyOf, AllOf, SequenceOf)
        ),
    ),
    max_leaves=5,
)
OUTPUT_TIMES = st.sampled_from([END_OF_WINDOW, END_OF_WINDOW, EARLIEST, LATEST])
REFINEMENTS = st.sampled_from(Refinement)
SOURCE = Files("events/*.parquet", event_time="happened")


def pipelines(
    *, window: SearchStrategy[WindowStrategy] = WINDOWS, trigger: SearchStrategy[Trigger] = TRIGGERS,
    refinement: SearchStrategy[Refinement] = REFINEMENTS, lateness: SearchStrategy[Any] | None = None,
) -> SearchStrategy[Pipeline]:  # fmt: skip
    """One grouping; every risk is accepted."""
    return st.builds(
        lambda **parts: (
            Pipeline("generated", SOURCE)
            .group_by_key_and_window(key="key", accept=tuple(Risk), **parts)
            .combine(rows=Count(), total=Sum("whole"))
        ),
        window=window,
        trigger=trigger,
        refinement=refinement,
        allowed_lateness=latenesses() if lateness is None else lateness,
    )


def with_trigger(pipeline: Pipeline, trigger: Trigger) -> Pipeline:
    return replace(pipeline, groupings=(replace(pipeline.grouping, trigger=trigger),))


def refined(pipeline: Pipeline, refinement: Refinement = ACCUMULATING) -> Pipeline:
    return replace(pipeline, groupings=(replace(pipeline.grouping, refinement=refinement),))


@st.composite
def scripts(
    draw: DrawFn, pipeline: Pipeline, arriving: Sequence[Element], *, with_batches: bool = False
) -> tuple[Epoch, ...]:
    """Epochs under clocks that never go back, some of them with the signal ``go``."""
    epochs = draw(simple.scripts(pipeline, arriving, with_batches=with_batches))
    raised = draw(st.lists(st.sampled_from([(), (), ("go",)]), min_size=len(epochs), max_size=len(epochs)))
    return tuple(
        Epoch(replace(epoch.clock, signals=frozenset(signals)), epoch.elements, epoch.horizon)
        for epoch, signals in zip(epochs, raised, strict=True)
    )


@st.composite
def cases(
    draw: DrawFn, pipeline: SearchStrategy[Pipeline], *, max_size: int = 20, with_batches: bool = False
) -> tuple[Pipeline, tuple[Epoch, ...]]:
    """A pipeline and a script for it."""
    chosen = draw(pipeline)
    return chosen, draw(scripts(chosen, draw(elements(max_size=max_size)), with_batches=with_batches))
