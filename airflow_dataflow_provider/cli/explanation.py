"""A pipeline in words, as a value: to be printed, handed to machines, compared in tests.

Everything in it follows from the definition alone: no file, no state and no Spark is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_dataflow_provider.cli.words import answers, modes, policies, risks, running
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.pipeline import Pipeline


@dataclass(frozen=True, slots=True)
class Section:
    """One question, with its answer in sentences.

    Args:
        name: for machines; of a second grouping with its number, as in ``what 2``.
        title: for people.
        lines: the sentences; one that begins with spaces belongs to the one above it.
    """

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
                {"error": error.code, "what": error.what, "reason": error.reason, "hint": error.hint}
                for error in self.refusals
            ],
        }


def explain(pipeline: Pipeline) -> Explanation:
    """Put a pipeline into words.

    Raises:
        DefinitionError: ``DEFINITION_INCOMPLETE`` for a pipeline that computes nothing.
    """
    pipeline.grouping  # noqa: B018 - it says what is missing
    refusals = running.refusals(pipeline)
    sections = (
        *_answers(pipeline),
        Section("watermarks", "What the watermarks say", tuple(running.watermarks(pipeline))),
        Section("epoch", "What an epoch does", tuple(running.epoch(pipeline))),
        Section("odd_rows", "What may be late, expired or rejected", tuple(running.odd_rows(pipeline))),
        Section("lost", "What may be lost", tuple(running.lost(pipeline))),
        Section("risks", "What was proven, and which risks are accepted", tuple(risks.risks(pipeline))),
        Section("modes", "What each runtime mode does", tuple(modes.modes(pipeline))),
        Section("policies", "What the policies of a run would do", tuple(policies.policies(pipeline))),
        Section("refused", "What the Spark engine refuses", tuple(_refused(refusals))),
    )
    return Explanation(
        pipeline.name,
        pipeline.fingerprint(),
        repr(pipeline),
        pipeline.percentiles(),
        sections,
        tuple(refusals),
    )


def _answers(pipeline: Pipeline) -> Iterator[Section]:
    """The four answers, once for each grouping."""
    several = len(pipeline.groupings) > 1
    for number, grouping in enumerate(pipeline.groupings):
        of = f" {number + 1}" if number else ""
        title = f"Grouping {number + 1}: " if several else ""
        for name, words, lines in (
            ("what", "What is computed", answers.what(pipeline, number)),
            ("where", "Where in event time", answers.where(grouping)),
            ("when", "When in processing time", answers.when(grouping)),
            ("how", "How refinements relate", answers.how(pipeline, number)),
        ):
            asked = f"{title}{words[0].lower()}{words[1:]}" if several else words
            yield Section(f"{name}{of}", asked, tuple(lines))


def _refused(refusals: list[SubmissionError]) -> list[str]:
    nothing = (
        "Nothing of this definition. Files, columns, their types and the state are checked when it is submitted, "
        "before Spark starts."
    )
    return [f"[{error.code}] {error.what}. What to do: {error.hint}." for error in refusals] or [nothing]
