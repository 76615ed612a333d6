"""The four answers in words: what, where, when, how."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_dataflow_provider.cli.words.triggers import mark, trigger_words
from airflow_dataflow_provider.model.combiners import Combiner, Count, Max, Mean, Min, Sum
from airflow_dataflow_provider.model.grouping import Grouping
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.refinement import Refinement
from airflow_dataflow_provider.model.time import Micros, duration_text, iso, to_micros
from airflow_dataflow_provider.model.windows import FixedWindows, GlobalWindows

_MOMENT: Micros = to_micros("2013-01-01T10:17:00Z")
"""An event time to explain windows with."""


def what(pipeline: Pipeline) -> list[str]:
    """What is computed, of what."""
    grouping, source = pipeline.grouping, pipeline.source
    times = {source.event_time: " (event time)", source.arrival_time: " (arrival time)"}
    columns = series(name + times.get(name, "") for name in pipeline.input_columns())
    lines = [f"Grouped by {series(grouping.key)}; a null there is a value like any other."]
    lines += [f"{name}: {_computed(combiner)}." for name, combiner in grouping.combiners.items()]
    lines.append(f"Read from {source!r}: the columns {columns}.")
    if source.arrival_time is None:
        lines.append("An element arrives at the processing time of the epoch that reads it: no column says it.")
    return lines


def _computed(combiner: Combiner) -> str:
    match combiner:
        case Count(column=None):
            return "the number of elements"
        case Count(column=column):
            return f"the number of values of {column}, nulls left out"
        case Sum(column=column):
            return f"the sum of {column}, nulls left out; of no values it is 0"
        case Mean(column=column):
            return f"the mean of {column}, nulls left out; of no values it is null"
        case Min(column=column):
            return f"the least {column}, nulls left out; of no values it is null"
        case Max(column=column):
            return f"the greatest {column}, nulls left out; of no values it is null"
        case _:
            return repr(combiner)


def where(grouping: Grouping) -> list[str]:
    """Where in event time."""
    match grouping.window:
        case GlobalWindows():
            return ["In one window over all of time, which ends at the end of input."]
        case FixedWindows(size=size):
            kind = f"In windows of {duration_text(size)}, side by side, each with its start and without its end"
        case other:
            kind = f"In {other!r}"
    return [f"{kind}: an element at {iso(_MOMENT)} belongs to {series(map(str, grouping.window.assign(_MOMENT)))}."]


def when(grouping: Grouping) -> list[str]:
    """When in processing time, with the times of one window."""
    lines = [
        f"At the end of an epoch an open window publishes one pane at most: {trigger_words(grouping.trigger)}.",
        "A pane is EARLY before W_100 reaches the end of its window, the first one after is ON_TIME, others are LATE.",
    ]
    if isinstance(grouping.window, GlobalWindows):
        never = (
            "No watermark reaches the end of the global window before the end of input: that of a batch, or of a "
            "stream that is stopped with --drain. Nor does it expire: its state stays."
        )
        return [*lines, never]
    window, lateness = grouping.window.assign(_MOMENT)[-1], grouping.allowed_lateness
    marks = [mark(percentile) for percentile in sorted(grouping.trigger.percentiles())]
    if marks:
        reach = "reach" if len(marks) > 1 else "reaches"
        lines.append(f"For the window {window} that is when {series(marks)} {reach} {iso(window.end)}.")
    after = f"{duration_text(lateness)} after its end" if lateness else "its end, for there is no allowed lateness"
    expiry = (
        f"{window} is complete when W_100 reaches {iso(window.end)}. It expires when W_100 reaches "
        f"{iso(window.end + lateness)}, {after}: what it has not published by then it publishes in a closing pane, and "
        "its state is dropped."
    )
    return [*lines, expiry]


def how(pipeline: Pipeline) -> list[str]:
    """How the panes of a window relate, and where they go."""
    match pipeline.grouping.refinement:
        case Refinement.DISCARDING:
            relation = (
                "Discarding: a pane holds what has come since the one before, so panes add up. One that would hold "
                "nothing is not written."
            )
        case Refinement.ACCUMULATING:
            relation = (
                "Accumulating: a pane holds everything so far, so the last one stands. It is written even where "
                "nothing has changed: it says how complete the window has become."
            )
        case Refinement.ACCUMULATING_AND_RETRACTING:
            relation = (
                "Accumulating and retracting: a pane holds everything so far, and a retraction of the one that it "
                "replaces precedes it. One that equals what stands is not written."
            )
    return [relation, f"Panes go to {pipeline.pane_log!r}; a relative path lies under the state URL."]


def series(parts: Iterable[str]) -> str:
    """``a, b and c``."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
