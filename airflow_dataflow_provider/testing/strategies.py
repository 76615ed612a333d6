"""Hypothesis strategies: pipelines, elements out of order, and scripts of epochs, to compare engines with each other.

All that is generated reads the same input: the key columns ``key`` (text) and ``site`` (integer), the value columns
``whole`` (integer) and ``part`` (a multiple of 0.25), each with nulls, and the event time ``happened``. The values are
such that floating-point sums are exact, so that results can be compared with ``==`` whatever the order of addition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.combiners import Combiner, Count, Max, Mean, Min, Sum
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.proofs import Risk
from airflow_dataflow_provider.model.refinement import Refinement
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_datetime, to_micros
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, SequenceOf, Trigger
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.model.windows import FixedWindows, GlobalWindows, WindowStrategy
from airflow_dataflow_provider.reference.interpreter import Epoch

SECOND: Micros = 1_000_000
START: Micros = to_micros("2013-01-01T12:00:00Z")
"""Elements happen in the ten minutes after it; processing time begins ten minutes after it."""
SPAN: Micros = 600 * SECOND

_PERCENTILES = (33.3, 50.0, 90.0, 97.0, 99.5, 100.0)

# Strategies that are drawn from within others are made once: making one takes longer than drawing from it.
_YES_OR_NO = st.booleans()
_SECONDS = st.integers(0, 60)
_SIZES = st.integers(0, 12)


@cache
def event_times() -> SearchStrategy[Micros]:
    """Whole seconds, and the microseconds beside them, where windows have their borders."""
    seconds = st.integers(0, SPAN // SECOND).map(lambda count: START + count * SECOND)
    return st.builds(int.__add__, seconds, st.sampled_from((0, 0, 0, -1, 1)))


@cache
def windows() -> SearchStrategy[WindowStrategy]:
    """Fixed windows of many sizes and offsets, and the global window."""
    sizes = st.sampled_from((7 * SECOND, 30 * SECOND, 60 * SECOND, 120 * SECOND, 3600 * SECOND, 1_500_001))
    offsets = st.sampled_from((0, 0, SECOND, -13 * SECOND, 86_400 * SECOND))
    return st.builds(FixedWindows, sizes, offsets) | st.just(GlobalWindows())


@cache
def triggers(depth: int = 3) -> SearchStrategy[Trigger]:
    """Trees of ``AtWatermark``, ``Repeat`` and ``SequenceOf``, at most ``depth`` high."""
    leaves = st.sampled_from(_PERCENTILES).map(AtWatermark)
    if depth == 1:
        return leaves
    below = triggers(depth - 1)
    sequences = st.lists(below, min_size=1, max_size=3).map(lambda parts: SequenceOf(*parts))
    return st.one_of(leaves, st.builds(Repeat, below), sequences)


@cache
def refinements() -> SearchStrategy[Refinement]:
    """All three."""
    return st.sampled_from(Refinement)


@cache
def latenesses() -> SearchStrategy[Micros]:
    """None, some, and more than there are elements for."""
    return st.sampled_from((0, 0, 10 * SECOND, 90 * SECOND, SPAN, 86_400 * SECOND))


@cache
def combiners() -> SearchStrategy[Combiner]:
    """All five, over the integer or the floating-point column."""
    columns = st.sampled_from(("whole", "part"))
    over_column = st.builds(lambda make, column: make(column), st.sampled_from((Sum, Mean, Min, Max, Count)), columns)
    return st.just(Count()) | over_column


def pipelines(
    *,
    window: SearchStrategy[WindowStrategy] | None = None,
    trigger: SearchStrategy[Trigger] | None = None,
    refinement: SearchStrategy[Refinement] | None = None,
    allowed_lateness: SearchStrategy[Micros] | None = None,
    combiner: SearchStrategy[Combiner] | None = None,
) -> SearchStrategy[Pipeline]:
    """Pipelines over everything that the model has today; each part can be narrowed."""
    return st.builds(
        _pipeline,
        st.lists(combiners() if combiner is None else combiner, min_size=1, max_size=4),
        key=st.sampled_from((("key",), ("key", "site"))),
        window=windows() if window is None else window,
        trigger=triggers() if trigger is None else trigger,
        refinement=refinements() if refinement is None else refinement,
        allowed_lateness=latenesses() if allowed_lateness is None else allowed_lateness,
    )


def _pipeline(aggregates: list[Combiner], **parts: Any) -> Pipeline:  # noqa: ANN401 - the grouping checks its parts
    grouped = Pipeline("generated", Files("events/*.parquet", event_time="happened")).group_by_key_and_window(**parts, accept=tuple(Risk))
    return grouped.combine(**{f"aggregate_{number}": combiner for number, combiner in enumerate(aggregates)})


@cache
def elements(*, max_size: int = 30) -> SearchStrategy[list[Element]]:
    """Elements in an order that has nothing to do with their event times; few keys, so that they meet in windows."""
    element = st.builds(
        _element,
        event_times(),
        key=st.sampled_from(("a", "b", None)),
        site=st.sampled_from((1, None)),
        whole=st.none() | st.integers(-1_000, 1_000),
        part=st.none() | st.integers(-4_000, 4_000).map(lambda quarters: quarters / 4),
    )
    return st.integers(0, max_size).flatmap(lambda size: st.lists(element, min_size=size, max_size=size))


def _element(event_time: Micros, **columns: object) -> Element:
    return Element({**columns, "happened": to_datetime(event_time)}, event_time, event_time)


@st.composite
def scripts(
    draw: DrawFn, pipeline: Pipeline, arriving: Sequence[Element], *, with_batches: bool = False
) -> tuple[Epoch, ...]:
    """Epochs that bring these elements in this order, however cut, under clocks that never go back.

    Each element arrives at the processing time of its epoch. Some epochs are clock-only, and some scripts end with the
    end of input.

    Args:
        draw: hypothesis' own; not given by the caller.
        pipeline: whose percentiles the watermarks have.
        arriving: the elements.
        with_batches: some epochs are the end of a batch's input: all fires, nothing expires that was not expired
            already, and the clock of the next epoch is behind.
    """
    percentiles = pipeline.percentiles()
    clock = Clock(START + SPAN, WatermarkCurve.flat(MIN_TIME, percentiles))
    everything = WatermarkCurve.flat(MAX_TIME, percentiles)
    # The ordinary watermark advances as often as all the others together.
    advance = st.tuples(st.sampled_from((*percentiles, *[100.0] * len(percentiles))), event_times())
    advances = st.lists(advance, max_size=2)
    epochs: list[Epoch] = []
    at = 0
    while at < len(arriving) or (len(epochs) < 30 and draw(_YES_OR_NO)):
        watermarks = clock.watermarks
        for share, time in draw(advances):
            watermarks = watermarks.raised_to(_known(share, time))
        clock = Clock(clock.processing_time + draw(_SECONDS) * SECOND, watermarks)
        taken = draw(_SIZES) if len(epochs) < 20 else len(arriving)
        now = [replace(element, arrival_time=clock.processing_time) for element in arriving[at : at + taken]]
        epochs.append(Epoch(clock, now))
        at += taken
        if with_batches and draw(_YES_OR_NO):
            epochs.append(Epoch(replace(clock, watermarks=everything), horizon=clock.watermark))
    if draw(_YES_OR_NO):
        epochs.append(Epoch(replace(clock, watermarks=everything)))
    return tuple(epochs)


@st.composite
def cases(
    draw: DrawFn, pipeline: SearchStrategy[Pipeline] | None = None, *, max_size: int = 30, with_batches: bool = False
) -> tuple[Pipeline, tuple[Epoch, ...]]:
    """A pipeline and a script for it: all that an engine takes."""
    chosen = draw(pipelines() if pipeline is None else pipeline)
    return chosen, draw(scripts(chosen, draw(elements(max_size=max_size)), with_batches=with_batches))


def _known(share: float, time: Micros) -> WatermarkCurve:
    return WatermarkCurve.flat(time) if share == 100 else WatermarkCurve(((share, time), (100.0, MIN_TIME)))
