"""A pipeline in words, as a value: to be printed, handed to machines, compared in tests.

Everything in it follows from the definition alone: no file, no state and no Spark is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.cli.words import answers, running
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Section:
    """One question, with its answer in sentences."""

    name: str
    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """A pipeline in words.

    Args:
        pipeline: its name.
        fingerprint: of its definition.
        definition: the code that makes it.
        percentiles: those of the watermarks that a job publishes.
        sections: the words.
        refusals: why the Spark engine would not run it, whatever the mode; empty if it would.
    """

    pipeline: str
    fingerprint: str
    definition: str
    percentiles: tuple[float, ...]
    sections: tuple[Section, ...]
    refusals: tuple[SubmissionError, ...]

    def to_json(self) -> dict[str, Any]:
        """One JSON object."""
        return {
            "pipeline": self.pipeline,
            "fingerprint": self.fingerprint,
            "definition": self.definition,
            "percentiles": list(self.percentiles),
            "sections": {section.name: list(section.lines) for section in self.sections},
            "refusals": [
                {"error": error.code, "what": error.what, "why": error.why, "todo": error.todo}
                for error in self.refusals
            ],
        }


def explain(pipeline: Pipeline) -> Explanation:
    """Put a pipeline into words.

    Raises:
        DefinitionError: ``DEFINITION_INCOMPLETE`` for a pipeline that computes nothing.
    """
    refusals = running.refusals(pipeline)
    sections = (
        ("what", "What is computed", answers.what(pipeline)),
        ("where", "Where in event time", answers.where(pipeline.grouping)),
        ("when", "When in processing time", answers.when(pipeline.grouping)),
        ("how", "How refinements relate", answers.how(pipeline)),
        ("watermarks", "What the watermarks say", running.watermarks(pipeline)),
        ("epoch", "What an epoch does", running.epoch(pipeline)),
        ("odd_rows", "What may be late, expired or rejected", running.odd_rows(pipeline)),
        ("lost", "What may be lost", running.lost(pipeline)),
        ("modes", "What each runtime mode does", running.modes(pipeline)),
        ("refused", "What the Spark engine refuses", _refused(refusals)),
    )
    return Explanation(
        pipeline.name,
        pipeline.fingerprint(),
        repr(pipeline),
        pipeline.percentiles(),
        tuple(Section(name, title, tuple(lines)) for name, title, lines in sections),
        tuple(refusals),
    )


def _refused(refusals: list[SubmissionError]) -> list[str]:
    nothing = (
        "Nothing of this definition. Files, columns, their types and the state are checked when it is submitted, "
        "before Spark starts."
    )
    return [f"[{error.code}] {error.what}. What to do: {error.todo}." for error in refusals] or [nothing]
