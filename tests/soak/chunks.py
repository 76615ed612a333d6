"""One piece of the search: some random cases of one family, and what is said where one fails."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, seed, settings

from airflow_dataflow_provider.testing.strategies import Case, cases
from airflow_dataflow_provider.testing.transcript import Transcript
from tests.soak.written import NAMES, write
from tests.spark import comparison
from tests.spark.comparison import Way, ways


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one process does at a time; the same chunk draws the same cases everywhere.

    Attributes:
        family: of :data:`tests.spark.comparison.FAMILIES`.
        number: of the chunk within the family.
        seed: of the whole run.
        cases: how many.
    """

    family: str
    number: int
    seed: int
    cases: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a chunk came to: how many cases agreed, and what to say about the one that did not."""

    chunk: Chunk
    agreed: int
    complaint: str | None = None


def run(chunk: Chunk) -> Outcome:
    """Compare the cases of a chunk, until one fails; that one is shrunk."""
    agreed = 0
    failed: tuple[Case, Way, Exception] | None = None

    @seed(f"{chunk.seed} {chunk.family} {chunk.number}")
    @settings(comparison.MANY_SMALL, max_examples=chunk.cases, database=None, report_multiple_bugs=False, deadline=None)
    @given(cases(comparison.FAMILIES[chunk.family], max_size=comparison.MOST_ELEMENTS, with_batches=True), ways())
    def search(case: Case, way: Way) -> None:
        nonlocal agreed, failed
        try:
            comparison.compare(*case, way)
        except Exception as error:
            failed = case, way, error
            raise
        agreed += failed is None

    try:
        search()
    except Exception as error:  # noqa: BLE001 - hypothesis wraps it, and notes are not said twice
        if failed is None:
            return Outcome(chunk, agreed, f"no case could be drawn: {error!r}")
        return Outcome(chunk, agreed, complaint(chunk, *failed))
    return Outcome(chunk, agreed)


def complaint(chunk: Chunk, case: Case, way: Way, error: Exception) -> str:
    """What failed, and how to see it again: as a transcript, where a transcript can say it."""
    pipeline, epochs = case
    said = [f"{chunk.family}: {type(error).__name__}: {error}", ""]
    try:
        text = write(pipeline, epochs, f"{chunk.family}, seed {chunk.seed}, chunk {chunk.number}")
        shown = fails_as_written(text)
    except Exception as unwritten:  # noqa: BLE001 - the counter-example must not be lost for it
        said.append(f"# It cannot be written as a transcript: {unwritten}")
    else:
        if shown:
            return "\n".join([*said, text])
        said.append("# It agrees where one thing happens at a time, so no transcript shows it.")
    return "\n".join([*said, f"# {way}", repr(pipeline), *map(repr, epochs)])


def fails_as_written(text: str) -> bool:
    """Whether the engine fails the transcript.

    Raises:
        AssertionError: where the reference does, too: it does not say what was meant.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "found.yaml"
        path.write_text(text)
        transcript = Transcript.read(path, NAMES)
    transcript.check()
    try:
        transcript.check_step_by_step(comparison.InProcess(transcript.pipeline()).epoch)
    except Exception:  # noqa: BLE001 - whatever is wrong with the engine
        return True
    return False
