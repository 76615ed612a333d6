"""Whole pipelines, each dimension of which can be narrowed."""

from __future__ import annotations

from functools import cache, reduce
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from airflow_dataflow_provider.model.combiners import Combiner, Count, Max, Mean, Min, Sum
from airflow_dataflow_provider.model.grouping import EARLIEST, END_OF_WINDOW, LATEST, OutputTime
from airflow_dataflow_provider.model.par_do import AssignWindows, ParDo
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import ACCUMULATING_AND_RETRACTING, DISCARDING, Refinement
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.model.watermark_policies import LEARNED, BoundedDelay, WatermarkPolicy
from airflow_dataflow_provider.model.windows import GlobalWindows, WindowStrategy
from airflow_dataflow_provider.testing.strategies.aggregations import combiners
from airflow_dataflow_provider.testing.strategies.trigger_trees import triggers
from airflow_dataflow_provider.testing.strategies.window_kinds import windows

_EVERY_RISK = tuple(Risk)


@cache
def refinements() -> SearchStrategy[Refinement]:
    """All three, the one that has most to get wrong twice as often."""
    return st.sampled_from((*Refinement, ACCUMULATING_AND_RETRACTING))


@cache
def latenesses() -> SearchStrategy[str]:
    """None, some, and more than there are elements for."""
    return st.sampled_from(("0s", "10m", "90s", "0s", "10s", "1d"))


@cache
def watermark_policies() -> SearchStrategy[WatermarkPolicy]:
    """Learned, or bounded by less and more than the disorder that elements have."""
    return st.sampled_from((LEARNED, BoundedDelay("10s"), BoundedDelay("10m"), BoundedDelay("0s", idle_after="1m")))


@cache
def output_times() -> SearchStrategy[OutputTime]:
    return st.sampled_from(OutputTime)


@cache
def _no_par_dos() -> SearchStrategy[list[ParDo]]:
    return st.just([])


def pipelines(
    *,
    window: SearchStrategy[WindowStrategy] | None = None,
    trigger: SearchStrategy[Trigger] | None = None,
    refinement: SearchStrategy[Refinement] | None = None,
    allowed_lateness: SearchStrategy[Micros] | None = None,
    combiner: SearchStrategy[Combiner] | None = None,
    par_do: SearchStrategy[list[ParDo]] | None = None,
    then: SearchStrategy[list[ParDo]] | None = None,
    watermark: SearchStrategy[WatermarkPolicy] | None = None,
) -> SearchStrategy[Pipeline]:
    """Pipelines with one grouping, of the default families (see each strategy); each part can be chosen.

    They accept every risk, so that none is refused.

    Args:
        window: where in event time.
        trigger: when in processing time.
        refinement: how panes relate.
        allowed_lateness: how long windows take late elements.
        combiner: what is computed.
        par_do: the steps before the grouping; by default none.
        then: the steps after it; by default none.
        watermark: how a run estimates it; scripts of epochs say it themselves.
    """
    pipeline = st.builds(
        _grouped,
        st.lists(combiners() if combiner is None else combiner, min_size=1, max_size=3),
        _no_par_dos() if par_do is None else par_do,
        key=st.sampled_from((("key",), ("key", "site"))),
        window=windows() if window is None else window,
        trigger=triggers() if trigger is None else trigger,
        refinement=refinements() if refinement is None else refinement,
        allowed_lateness=latenesses() if allowed_lateness is None else allowed_lateness,
        watermark=watermark_policies() if watermark is None else watermark,
    )
    return pipeline if then is None else st.builds(_followed, pipeline, then)


def _followed(pipeline: Pipeline, steps: list[ParDo]) -> Pipeline:
    return reduce(Pipeline.par_do, steps, pipeline)


def _grouped(
    aggregates: list[Combiner],
    steps: list[ParDo],
    window: WindowStrategy,
    before: Pipeline | None = None,
    watermark: WatermarkPolicy = LEARNED,
    **parts: Any,  # noqa: ANN401 - the grouping checks its parts
) -> Pipeline:
    source = Files("events/*.parquet", event_time="happened", watermark=watermark)
    pipeline = Pipeline("generated", source) if before is None else before
    pipeline = _followed(pipeline, steps)
    if not any(isinstance(step, AssignWindows) for step in steps):
        parts["window"] = window
    grouped = pipeline.group_by_key_and_window(**parts, accept=_EVERY_RISK)
    return grouped.combine(**{f"aggregate_{number}": combiner for number, combiner in enumerate(aggregates)})


@cache
def _summable() -> SearchStrategy[Combiner]:
    """What can be added up and taken back without rounding: a mean cannot."""
    over_column = st.builds(
        lambda make, column: make(column), st.sampled_from((Sum, Min, Max)), st.sampled_from(("whole", "part"))
    )
    return st.just(Count()) | over_column


@cache
def _of_results() -> SearchStrategy[Combiner]:
    return st.sampled_from((Count(), *(make("aggregate_0") for make in (Sum, Mean, Min, Max, Count))))


def result_triggers(*families: str, depth: int = 3) -> SearchStrategy[Trigger]:
    """Triggers of a second grouping: they look at the first one's key and aggregate."""
    return triggers(*families, depth=depth, whole="aggregate_0", part="aggregate_0")


@st.composite
def two_groupings(
    draw: st.DrawFn,
    *,
    window: SearchStrategy[WindowStrategy] | None = None,
    trigger: SearchStrategy[Trigger] | None = None,
    then_window: SearchStrategy[WindowStrategy] | None = None,
    then_trigger: SearchStrategy[Trigger] | None = None,
) -> Pipeline:
    """Pipelines whose second grouping counts, adds up and compares the results of the first.

    Args:
        draw: hypothesis' own; not given by the caller.
        window: of the first grouping.
        trigger: of the first grouping.
        then_window: of the second; results that may be taken back cannot be in windows that merge.
        then_trigger: of the second (see :func:`result_triggers`).
    """
    chosen = draw(windows() if window is None else window)
    no_end = isinstance(chosen, GlobalWindows)
    first = _grouped(
        draw(st.lists(_summable(), min_size=1, max_size=2)),
        [],
        key=("key", "site"),
        window=chosen,
        trigger=draw(triggers() if trigger is None else trigger),
        refinement=draw(refinements()),
        allowed_lateness=draw(latenesses()),
        output_time=draw(st.sampled_from((LATEST, EARLIEST) if no_end else (END_OF_WINDOW, LATEST, EARLIEST))),
        watermark=draw(watermark_policies()),
    )
    refinement = draw(refinements())
    # Of what was taken back, only sums can be told piece by piece.
    adding = refinement is DISCARDING and first.grouping.refinement is not DISCARDING
    combiner = st.sampled_from((Count(), Sum("aggregate_0"))) if adding else _of_results()
    return _grouped(
        draw(st.lists(combiner, min_size=1, max_size=2)),
        [],
        before=first,
        key=draw(st.sampled_from((("key",), ("site",)))),
        window=draw(windows("fixed", "sliding", "global") if then_window is None else then_window),
        trigger=draw(result_triggers() if then_trigger is None else then_trigger),
        refinement=refinement,
        allowed_lateness=draw(latenesses()),
    )
