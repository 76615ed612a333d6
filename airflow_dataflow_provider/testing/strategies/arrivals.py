"""Elements out of order, and scripts of epochs that bring them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, Micros, to_datetime
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.testing.strategies.definitions import pipelines
from airflow_dataflow_provider.testing.strategies.moments import SECOND, SPAN, START, event_times, starts_for

Case = tuple[Pipeline, tuple[Epoch, ...]]
"""A pipeline and a script for it: all that an engine takes."""

# Strategies that are drawn from within others are made once: making one takes longer than drawing from it.
_YES_OR_NO = st.booleans()
_NOW_AND_THEN = st.sampled_from((False, False, False, True))
_SECONDS = st.sampled_from((0, 10, 60, *range(60), 3600))
_USUALLY = st.sampled_from((True, False, True, True))
_SIZES = st.sampled_from((2, 4, 1, 6, 0, 3, 8, 5))
_APART = st.sampled_from((0, 0, 1, SECOND, 7 * SECOND, 61 * SECOND))


@cache
def elements(*, max_size: int = 30, starts: tuple[Micros, ...] = (START,)) -> SearchStrategy[list[Element]]:
    """Elements in an order that has nothing to do with their event times; few keys, so that they meet in windows.

    Args:
        max_size: at most so many.
        starts: they happen in the ten minutes after any of these.
    """
    element = st.builds(
        _element,
        event_times(starts),
        key=st.sampled_from(("a", "a", "a", "a", "b", None)),
        site=st.sampled_from((1, 1, 1, 1, 1, None)),
        whole=st.sampled_from((0, 1, 2, 3, -1, -2, None, 1_000, -1_000)),
        part=st.sampled_from((0.0, 0.25, 0.5, -0.25, -1.5, None, 1_000.75)),
    )
    # A list that is left to itself is short: half of them are long here.
    sizes = st.integers(0, max_size) | st.integers(max_size // 2, max_size)
    return sizes.flatmap(lambda size: st.lists(element, min_size=size, max_size=size))


def _element(event_time: Micros, **columns: object) -> Element:
    return Element({**columns, "happened": to_datetime(event_time)}, event_time, event_time)


@st.composite
def scripts(
    draw: DrawFn,
    pipeline: Pipeline,
    arriving: Sequence[Element],
    *,
    with_batches: bool = False,
    starts: tuple[Micros, ...] = (START,),
) -> tuple[Epoch, ...]:
    """Epochs that bring these elements in this order, however cut, under clocks that never go back.

    The elements of an epoch arrive one after the other, none after its clock. Signals that the pipeline listens to are
    raised in some epochs. Some epochs are clock-only, and some scripts end with the end of input.

    Args:
        draw: hypothesis' own; not given by the caller.
        pipeline: whose percentiles the watermarks have.
        arriving: the elements.
        with_batches: some epochs are the end of a batch's input: all fires, nothing expires that was not expired
            already, and the clock of the next epoch is behind.
        starts: watermarks lie in the ten minutes after any of these.
    """
    percentiles = pipeline.percentiles()
    signals = sorted(frozenset[str]().union(*(grouping.trigger.signals() for grouping in pipeline.groupings)))
    some_signals = st.sets(st.sampled_from(signals)).map(frozenset) if signals else st.just(frozenset[str]())
    clock = Clock(starts[-1] + SPAN, WatermarkCurve.flat(MIN_TIME, percentiles))
    everything = WatermarkCurve.flat(MAX_TIME, percentiles)
    # The ordinary watermark advances as often as all the others together.
    advance = st.tuples(st.sampled_from((*percentiles, *[100.0] * len(percentiles))), event_times(starts))
    advances = st.lists(advance, max_size=2)
    epochs: list[Epoch] = []
    at = 0
    while at < len(arriving) or (len(epochs) < 30 and draw(_YES_OR_NO)):
        watermarks = clock.watermarks
        for share, time in draw(advances):
            watermarks = watermarks.raised_to(_known(share, time))
        clock = Clock(clock.processing_time + draw(_SECONDS) * SECOND, watermarks, draw(some_signals))
        taken = draw(_SIZES) if len(epochs) < 20 else len(arriving)
        epochs.append(Epoch(clock, _arrived(arriving[at : at + taken], clock.processing_time, draw(_APART))))
        at += taken
        if with_batches and draw(_NOW_AND_THEN):
            epochs.append(Epoch(Clock(clock.processing_time, everything), horizon=clock.watermark))
    if draw(_USUALLY):
        epochs.append(Epoch(Clock(clock.processing_time, everything)))
    return tuple(epochs)


def _arrived(arriving: Sequence[Element], until: Micros, apart: Micros) -> list[Element]:
    """The same elements, two by two at one moment, the last one once ``apart`` before the epoch's clock."""
    pairs = range(len(arriving) // 2 + 1, 0, -1)
    times = [until - apart * pair for pair in pairs for _ in range(2)]
    return [replace(element, arrival_time=time) for element, time in zip(arriving, times, strict=False)]


@st.composite
def cases(
    draw: DrawFn, pipeline: SearchStrategy[Pipeline] | None = None, *, max_size: int = 30, with_batches: bool = False
) -> Case:
    """A pipeline and a script for it: all that an engine takes."""
    chosen = draw(pipelines() if pipeline is None else pipeline)
    starts = draw(starts_for(chosen.groupings[0].window))
    arriving = draw(elements(max_size=max_size, starts=starts))
    return chosen, draw(scripts(chosen, arriving, with_batches=with_batches, starts=starts))


def _known(share: float, time: Micros) -> WatermarkCurve:
    return WatermarkCurve.flat(time) if share == 100 else WatermarkCurve(((share, time), (100.0, MIN_TIME)))
