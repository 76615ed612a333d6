"""What was proven of a plan, and which risks its user has accepted by name."""

from __future__ import annotations

from dataclasses import replace

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.grouping import Grouping
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.proofs import never_fires_in_a_stream
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.time import duration_text

_PROVEN = {
    Risk.MAY_LOSE_DATA: "no element comes after the last firing of a window that still takes it",
    Risk.MAY_NEVER_FIRE: "no window waits for ever for its pane",
    Risk.NEEDS_RETRACTION: "nobody is left with a result that does not hold any more without being told",
}


def risks(pipeline: Pipeline) -> list[str]:
    """Each risk: proven not to be there, or accepted and why it is there."""
    several = len(pipeline.groupings) > 1
    lines: list[str] = []
    for number, grouping in enumerate(pipeline.groupings):
        whose = f"Grouping {number + 1}: " if several else ""
        for risk in sorted(grouping.accept):
            refused = without(pipeline, number, risk)
            because = ", though nothing here asks for it" if refused is None else f": {_reason(refused)}"
            lines.append(f"{whose}{risk!r} is accepted{because}.")
    accepted = {risk for grouping in pipeline.groupings for risk in grouping.accept}
    ends = {
        Risk.MAY_NEVER_FIRE: ", where the input ends" if any(map(never_fires_in_a_stream, pipeline.groupings)) else ""
    }
    proven = [f"{_PROVEN[risk]}{ends.get(risk, '')} ({risk})" for risk in Risk if risk not in accepted]
    return [*lines, *(f"Proven: {fact}." for fact in proven)]


def without(pipeline: Pipeline, number: int, risk: Risk) -> DefinitionError | None:
    """Why a plan would be refused if one grouping did not accept a risk."""
    again = Pipeline(pipeline.name, pipeline.source)
    try:
        for at, grouping in enumerate(pipeline.groupings):
            accept = grouping.accept - {risk} if at == number else grouping.accept
            again = _grouped(again, grouping, accept)
        again = replace(again, pending=pipeline.pending)
        for sink in pipeline.sinks:
            again = again.write(sink)
    except DefinitionError as error:
        return error
    return None


def _grouped(pipeline: Pipeline, grouping: Grouping, accept: frozenset[Risk]) -> Pipeline:
    return (
        replace(pipeline, pending=grouping.par_dos)
        .group_by_key_and_window(
            key=grouping.key,
            window=None if grouping.assigns_windows_early else grouping.window,
            trigger=grouping.trigger,
            refinement=grouping.refinement,
            allowed_lateness=duration_text(grouping.allowed_lateness),
            output_time=grouping.output_time,
            accept=accept,
        )
        .combine(**grouping.combiners)
    )


def _reason(error: DefinitionError) -> str:
    return error.what.partition(": ")[2]
