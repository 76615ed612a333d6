"""The four answers in words, for one grouping of a pipeline: what, where, when, how."""

from __future__ import annotations

from airflow_dataflow_provider.cli.words.combiners import computed
from airflow_dataflow_provider.cli.words.par_dos import step_lines
from airflow_dataflow_provider.cli.words.plain import mark, series
from airflow_dataflow_provider.cli.words.triggers import moments, trigger_lines
from airflow_dataflow_provider.cli.words.windows import example, window_lines
from airflow_dataflow_provider.model.grouping import Grouping, OutputTime
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.proofs import fires_once, replaces, retracts
from airflow_dataflow_provider.model.refinement import Refinement
from airflow_dataflow_provider.model.sources import INGRESS_TIME
from airflow_dataflow_provider.model.time import duration_text, iso
from airflow_dataflow_provider.model.windows import GlobalWindows

_INDENT = "  "


def takes_back(pipeline: Pipeline, number: int) -> bool:
    """Whether elements of a grouping can be taken back: results of the one before it that do not stay."""
    before = pipeline.groupings[number - 1] if number else None
    return before is not None and retracts(before, is_last=False) and not fires_once(before)


def what(pipeline: Pipeline, number: int) -> list[str]:
    """What is computed, of what."""
    grouping = pipeline.groupings[number]
    lines = [f"Grouped by {series(grouping.key)}; a null there is a value like any other."]
    lines += [f"{name}: {computed(combiner)}." for name, combiner in grouping.combiners.items()]
    if grouping.par_dos:
        lines.append("Before that, step by step:" if len(grouping.par_dos) > 1 else "Before that:")
        lines += [_INDENT + line for step in grouping.par_dos for line in step_lines(step)]
    return [*lines, *(_read(pipeline) if number == 0 else _results(pipeline, number))]


def _read(pipeline: Pipeline) -> list[str]:
    source = pipeline.source
    times = {source.event_time: " (event time)", source.arrival_time: " (arrival time)"}
    columns = series(name + times.get(name, "") for name in pipeline.input_columns())
    everything = pipeline.groupings[0].reads() is None
    lines = [f"Read from {source!r}: {f'every column, with {columns}' if everything else f'the columns {columns}'}."]
    if source.event_time is INGRESS_TIME:
        when = "the processing time of the epoch that reads it" if source.arrival_time is None else source.arrival_time
        lines.append(f"An element happens when it arrives: its event time is {when}.")
    elif source.arrival_time is None:
        lines.append("An element arrives at the processing time of the epoch that reads it: no column says it.")
    return lines


def _results(pipeline: Pipeline, number: int) -> list[str]:
    before = pipeline.groupings[number - 1]
    lines = [f"Its elements are the results of grouping {number}, with the columns {series(before.output_columns)}."]
    if takes_back(pipeline, number):
        lines.append(
            "A result that does not hold any more is taken back before the one that replaces it comes, so the last "
            "pane is what a batch over the same input gives. A window whose elements were all taken back has no result."
        )
    return lines


def where(grouping: Grouping) -> list[str]:
    """Where in event time."""
    if grouping.assigns_windows_early:
        merged = ", which merge here, by key" if grouping.window.merges else ""
        return [f"In the windows that elements were given before, by assign_windows(){merged}."]
    return window_lines(grouping.window)


def when(grouping: Grouping) -> list[str]:
    """When in processing time, with the times of one window."""
    asked, said = moments(grouping.trigger), trigger_lines(grouping.trigger)
    asked = asked[0].upper() + asked[1:]
    lines = [f"{asked}: {said[0]}{'' if len(said) > 1 else '.'}", *said[1:]]
    lines.append(
        "A pane is EARLY before W_100 reaches the end of its window, the first one after is ON_TIME, others are LATE."
    )
    if signals := sorted(grouping.trigger.signals()):
        lines.append(f"It listens to the {'signals' if len(signals) > 1 else 'signal'} {series(map(repr, signals))}.")
    if grouping.trigger.looks_at_elements:
        lines.append("When the input ends, triggers that wait for elements are due for whatever is left over.")
    if isinstance(grouping.window, GlobalWindows):
        never = (
            "No watermark reaches the end of the global window before the end of input: that of a batch, or of a "
            "stream that is stopped with --drain. Nor does it expire: its state stays."
        )
        return [*lines, never]
    return [*lines, *_ends(grouping)]


def _ends(grouping: Grouping) -> list[str]:
    window, lateness = example(grouping.window), grouping.allowed_lateness
    end, that = ("its end", "A window") if window is None else (iso(window.end), str(window))
    lines = []
    marks = [mark(percentile) for percentile in sorted(grouping.trigger.percentiles())]
    if marks and window is not None:
        reach = "reach" if len(marks) > 1 else "reaches"
        lines.append(f"For the window {window}, {series(marks)} {reach} the end at {end}.")
    if lateness and window is not None:
        expires = f"{iso(window.end + lateness)}, {duration_text(lateness)} after its end"
    elif lateness:
        expires = f"its end plus {duration_text(lateness)}"
    else:
        expires = (
            f"{end}, for there is no allowed lateness"
            if window is None
            else (f"{end}, its end, for there is no allowed lateness")
        )
    expiry = (
        f"{that} is complete when W_100 reaches {end}. It expires when W_100 reaches {expires}: what it has not "
        "published by then it publishes in a closing pane, and its state is dropped."
    )
    return [*lines, expiry]


def how(pipeline: Pipeline, number: int) -> list[str]:
    """How the panes of a window relate, and where they go."""
    grouping, is_last = pipeline.groupings[number], number == len(pipeline.groupings) - 1
    match grouping.refinement:
        case Refinement.DISCARDING:
            relation = (
                "Discarding: a pane holds what has come since the one before, so panes add up. One that would hold "
                "nothing is not written."
            )
        case Refinement.ACCUMULATING if not is_last and not fires_once(grouping):
            relation = (
                "Accumulating: a pane holds everything so far. The next grouping counts what it gets, so it gets each "
                "result that is replaced taken back first, as if this were accumulating and retracting."
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
            if grouping.window.merges:
                relation += " Where windows merge, what was published of each of them is taken back."
    if is_last:
        return [
            relation,
            *_steps_after(pipeline),
            f"Panes go to {pipeline.pane_log!r}; a relative path lies under the state URL.",
        ]
    return [relation, _handed_on(grouping, number)]


def _steps_after(pipeline: Pipeline) -> list[str]:
    """What becomes of the panes before they are published."""
    steps = pipeline.result_steps
    if not steps:
        return []
    lines = ["Each pane then passes, and is what they make of it, with its key and window:"]
    lines += [_INDENT + line for step in steps for line in step_lines(step)]
    match pipeline.grouping.refinement:
        case Refinement.DISCARDING:
            lines.append("Each pane passes by itself, and the table shows the rows of all of them: they do not add up.")
        case Refinement.ACCUMULATING if replaces(pipeline.grouping):
            lines.append("A pane of which nothing is left takes back what was published of the pane before it.")
        case Refinement.ACCUMULATING_AND_RETRACTING:
            lines.append("Retractions pass, too, so what is taken back is what was published.")
        case _:
            pass
    return lines


def _handed_on(grouping: Grouping, number: int) -> str:
    match grouping.output_time:
        case OutputTime.END_OF_WINDOW:
            time = "the last instant of its window, one microsecond before the end"
        case OutputTime.EARLIEST:
            time = "that of its earliest element"
        case OutputTime.LATEST:
            time = "that of its latest element"
    return (
        f"Its results are the elements of grouping {number + 2}. The event time of each is {time} "
        f"({grouping.output_time!r}); the watermarks of grouping {number + 2} wait for the earliest result that an "
        "open window here can still have, so that none is late because of this grouping."
    )
