"""The search finds what is wrong, says it as a transcript, and the same seed says the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from airflow_dataflow_provider.model.elements import Pane, PaneTiming
from airflow_dataflow_provider.reference.interpreter import Epoch
from airflow_dataflow_provider.testing.strategies import Case, cases
from airflow_dataflow_provider.testing.transcript import Transcript
from tests.soak.__main__ import chunks, main
from tests.soak.chunks import Chunk, run
from tests.soak.written import NAMES, write
from tests.spark import comparison
from tests.spark.in_process import InProcess

FAMILY = "fixed x elements"


class NothingEarly(InProcess):
    """An engine that forgets early panes."""

    def epoch(self, epoch: Epoch) -> list[Pane]:
        return [pane for pane in super().epoch(epoch) if pane.timing is not PaneTiming.EARLY]


def read(text: str, folder: Path) -> Transcript:
    path = folder / "found.yaml"
    path.write_text(text)
    return Transcript.read(path, NAMES)


@pytest.mark.parametrize("family", comparison.FAMILIES)
def test_a_case_that_is_written_is_a_transcript_that_holds(family: str, tmp_path: Path) -> None:
    @settings(comparison.MANY_SMALL, max_examples=5)
    @given(cases(comparison.FAMILIES[family], max_size=20, with_batches=True).filter(lambda case: len(case[1]) > 0))
    def check(case: Case) -> None:
        read(write(*case, title="Anything"), tmp_path).check()

    check()


def test_what_is_wrong_is_found_and_told_as_a_transcript_that_shows_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(comparison, "InProcess", NothingEarly)
    outcome = run(Chunk(FAMILY, 0, seed=1, cases=500))
    assert outcome.complaint is not None
    assert "missing" in outcome.complaint
    transcript = read(outcome.complaint[outcome.complaint.index("title:") :], tmp_path)
    transcript.check()
    with pytest.raises(AssertionError, match="EARLY"):
        transcript.check_step_by_step(NothingEarly(transcript.pipeline()).epoch)


def test_families_take_turns_until_there_are_enough_cases() -> None:
    few = list(chunks(["a", "b"], 7, 5))
    assert [(chunk.family, chunk.number, chunk.cases) for chunk in few] == [("a", 0, 3), ("b", 0, 2)]
    many = list(chunks(["a", "b"], 7, 700))
    assert [(chunk.family, chunk.number, chunk.cases) for chunk in many] == [
        ("a", 0, 200), ("b", 0, 200), ("a", 1, 200), ("b", 1, 100),
    ]  # fmt: skip


def test_a_short_run_says_how_many_cases_agree(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["--cases", "10", "--jobs", "1", "--seed", "3", "--family", "fixed x watermarks"]) == 0
    said = capfd.readouterr().out
    assert "10 cases agree" in said
    assert "seed 3" in said
