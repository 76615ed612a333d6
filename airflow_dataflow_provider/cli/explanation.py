"""The facts about a pipeline that ``explain`` states, as the checks of the model and the engine find them.

They are one JSON object. Each of its lists is a table: its records have the same fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from airflow_dataflow_provider.cli.known_types import KnownTypes, known_types
from airflow_dataflow_provider.model.batch import FAIL, IGNORE, BatchPolicies, share_of
from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.model.grouping import Grouping
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.par_do import SparkColumns, Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.proofs import findings
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import duration_text
from airflow_dataflow_provider.model.triggers import Trigger
from airflow_dataflow_provider.model.windows import GlobalWindows

Record = dict[str, Any]
_T = TypeVar("_T")

_RUNS: dict[str, tuple[RuntimeMode, Interval | None]] = {
    "batch": (RuntimeMode.BATCH, None),
    "batch --from --to": (RuntimeMode.BATCH, Interval(0, 1)),
    "micro-batch": (RuntimeMode.MICRO_BATCH, None),
    "streaming": (RuntimeMode.STREAMING, None),
    "automatic": (RuntimeMode.AUTOMATIC, None),
}
_OVER_AN_INTERVAL = (
    "Computes the windows that end in the interval again, and replaces their results. It keeps no state."
)


def explain(pipeline: Pipeline) -> Record:
    """The facts about a pipeline.

    Raises:
        DefinitionError: ``DEFINITION_INCOMPLETE`` for a pipeline that computes nothing.
    """
    pipeline.grouping  # noqa: B018 - it says what is missing
    source, types = pipeline.source, known_types(pipeline)
    numbered = [*enumerate(pipeline.groupings, 1)]
    return {
        "pipeline": pipeline.name,
        "fingerprint": pipeline.fingerprint(),
        "definition": repr(pipeline),
        "source": [{"code": repr(source), "boundedness": source.boundedness.value, "types": types.origin}],
        "columns": [*_columns(pipeline, types)],
        "groupings": [_grouping(number, grouping) for number, grouping in numbered],
        "parts": [{"grouping": number, **part} for number, grouping in numbered for part in _parts(grouping)],
        "aggregates": [each for number, grouping in numbered for each in _aggregates(number, grouping, types)],
        "state": [{"grouping": number, "columns": types.state(number - 1)} for number, _ in numbered],
        "results": [{"sink": repr(pipeline.pane_log), "columns": types.published()}],
        "watermarks": [_watermarks(pipeline)],
        "risks": [*_risks(pipeline)],
        "modes": [*_modes(pipeline)],
        "options": [*_options(pipeline)],
        "set_aside": [*_set_aside(pipeline)],
        "refused": [error.to_json() for error in _refused(pipeline, types)],
    }


def _columns(pipeline: Pipeline, types: KnownTypes) -> Iterator[Record]:
    """The columns that are read. ``*``: all columns, which are unknown."""
    times = {pipeline.source.event_time: "event time", pipeline.source.arrival_time: "arrival time"}
    names = pipeline.input_columns(tuple(types.source) or ("*",))
    yield from ({"column": name, "type": types.source.get(name), "time": times.get(name)} for name in names)


def _grouping(number: int, of: Grouping) -> Record:
    answers = {"window": of.window, "trigger": of.trigger, "refinement": of.refinement, "output_time": of.output_time}
    code = {name: repr(answer) for name, answer in answers.items()}
    return {"grouping": number, "key": of.key, **code, "lateness": duration_text(of.allowed_lateness)}


def _parts(grouping: Grouping) -> Iterator[Record]:
    for step in grouping.par_dos:
        yield {"part": "step", "code": repr(step), "does": step.describe(), "depth": 0}
    yield {"part": "window", "code": repr(grouping.window), "does": grouping.window.describe(), "depth": 0}
    yield from _tree(grouping.trigger, 0)
    refinement = grouping.refinement
    yield {"part": "refinement", "code": repr(refinement), "does": refinement.describe(), "depth": 0}


def _tree(trigger: Trigger, depth: int) -> Iterator[Record]:
    code = f"{type(trigger).__name__}(...)" if trigger.children() else repr(trigger)
    yield {"part": "trigger", "code": code, "does": trigger.describe(), "depth": depth}
    for child in trigger.children():
        yield from _tree(child, depth + 1)


def _aggregates(number: int, grouping: Grouping, types: KnownTypes) -> Iterator[Record]:
    outputs = types.outputs(number - 1)
    for name, combiner in grouping.combiners.items():
        type_, says = outputs.get(name), combiner.describe()
        yield {"grouping": number, "name": name, "code": repr(combiner), "type": type_, "is": says}


def _watermarks(pipeline: Pipeline) -> Record:
    source, perfect = pipeline.source, pipeline.source.has_perfect_watermark
    asked = (grouping.trigger.percentiles() for grouping in pipeline.groupings)
    return {
        "estimate": "processing time" if perfect else repr(source.watermark),
        "does": None if perfect else source.watermark.describe(),
        # What is on time, late or expired is judged by 100.
        "looked_at": sorted(frozenset({100.0}).union(*asked)),
        "published": pipeline.percentiles(),
        "signals": sorted(frozenset[str]().union(*(grouping.trigger.signals() for grouping in pipeline.groupings))),
    }


def _risks(pipeline: Pipeline) -> Iterator[Record]:
    for found in findings(pipeline.groupings, pipeline.pane_log, pipeline.result_steps):
        finding = "accepted" if found.accepted else "proven not to be there"
        reason = found.reason or ("nothing asks for it" if found.accepted else None)
        yield {"grouping": found.grouping + 1, "risk": found.risk.value, "finding": finding, "reason": reason}


def _modes(pipeline: Pipeline) -> Iterator[Record]:
    for run, (mode, interval) in _RUNS.items():
        does = mode.describe() if interval is None else _OVER_AN_INTERVAL
        found = _checked(pipeline, run, BatchPolicies())
        runs_as, refused = (None, found.to_json()) if isinstance(found, DataflowError) else (found.value, None)
        yield {"mode": run, "does": does, "runs_as": runs_as, "refused": refused}


def _options(pipeline: Pipeline) -> Iterator[Record]:
    """The options of ``run`` that depend on the pipeline, with the modes that refuse them and nothing else."""
    runs = [run for run in _RUNS if isinstance(_checked(pipeline, run, BatchPolicies()), RuntimeMode)]
    percentiles = {pipeline.percentiles()[0], *pipeline.groupings[0].trigger.percentiles()} - {100.0}
    for policies in (
        BatchPolicies(processing_time_at_end_of_input=IGNORE),
        BatchPolicies(processing_time_at_end_of_input=FAIL),
        BatchPolicies(allow_processing_time=False),
        *(BatchPolicies(input_share=share_of(percentile)) for percentile in sorted(percentiles)),
    ):
        checked = {run: _checked(pipeline, run, policies) for run in runs if run != RuntimeMode.AUTOMATIC}
        refused = {run: error.code for run, error in checked.items() if isinstance(error, DataflowError)}
        yield {"option": " ".join(policies.arguments()), "refused_by": refused}


def _checked(pipeline: Pipeline, run: str, policies: BatchPolicies) -> RuntimeMode | DataflowError:
    """The mode that really runs, or why it is refused."""
    from airflow_dataflow_provider.spark.running.submit import check_definition  # noqa: PLC0415 - brings polars

    mode, interval = _RUNS[run]
    return _outcome(lambda: check_definition(pipeline, mode, interval, policies))


def _set_aside(pipeline: Pipeline) -> Iterator[Record]:
    """The rows that are late, expired, rejected or dropped: which they are, and where they go."""
    source = pipeline.source
    for number, grouping in enumerate(pipeline.groupings, 1):
        keeps_times = not any(isinstance(step, Vectorised) for step in grouping.par_dos)
        if isinstance(grouping.window, GlobalWindows) or (number == 1 and source.has_perfect_watermark and keeps_times):
            continue
        end = "window end"
        if grouping.allowed_lateness:
            until = f"window end + {duration_text(grouping.allowed_lateness)}"
            yield {"row": "late", "grouping": number, "where": f"{end} <= W_100 < {until}", "goes_to": "its window"}
            end = until
        yield {"row": "expired", "grouping": number, "where": f"W_100 >= {end}", "goes_to": "expired/"}
    unread = [*(f"{name} is null or no time" for name in source.columns()), "a value is not of its column's type"]
    yield {"row": "rejected", "grouping": None, "where": " or ".join(unread), "goes_to": "rejected/"}
    if isinstance(source, Files) and source.max_rejected_share is not None:
        share = f"more than {source.max_rejected_share * 100:g} % of an epoch's rows"
        yield {"row": "rejected", "grouping": None, "where": share, "goes_to": "the run fails: DATA_REJECTED"}
    for step in pipeline.par_dos():
        if isinstance(step, SparkColumns) and step.where is not None:
            yield {"row": "dropped", "grouping": None, "where": f"not ({step.where})", "goes_to": "nowhere, uncounted"}


def _refused(pipeline: Pipeline, types: KnownTypes) -> list[DataflowError]:
    """Why the engine refuses the definition, whatever the mode."""
    from airflow_dataflow_provider.spark.running.submit import check_plan  # noqa: PLC0415 - brings polars
    from airflow_dataflow_provider.spark.tasks.user_code import check_named  # noqa: PLC0415

    found = [_outcome(lambda: check_plan(pipeline, None)), _outcome(lambda: check_named(pipeline))]
    return [error for error in found if isinstance(error, DataflowError)] or [*types.refusals]


def _outcome(check: Callable[[], _T]) -> _T | DataflowError:
    """The answer of a check, or why it refuses."""
    try:
        return check()
    except DataflowError as error:
        return error
