"""Every transcript on the reference, on the engine without Spark, and, where it says so, on Spark."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider import SubmissionError
from airflow_dataflow_provider.testing.transcript import Scene, Transcript
from tests.transcripts import own

FOLDER = Path(__file__).parent
TRANSCRIPTS = {
    str(path.relative_to(FOLDER).with_suffix("")): Transcript.read(path, own.NAMES)
    for path in sorted(FOLDER.rglob("*.yaml"))
}
RUN = {name: transcript for name, transcript in TRANSCRIPTS.items() if transcript.refused is None}
ON_SPARK = [(name, engine) for name, transcript in RUN.items() for engine in transcript.engines]
EVERYWHERE = [
    (name, engine)
    for name, transcript in RUN.items()
    for engine in ("spark-batch", "spark-micro-batch", "spark-streaming")
    if engine != "spark-batch" or transcript.batch is not None
]

MISSING = {"ENGINE_WINDOW", "ENGINE_TRIGGER", "ENGINE_COMBINER"}
NOT_YET: set[str] = set()
"""Transcripts of what the column-wise engine does not know yet. It says so itself, and each that it learns must go."""

DISPUTED = {
    "windows/own_validity_late": "a window that another one cut is not taken back while it gets no element of its own",
    "groupings/output_time_discarding": "the time of a pane that discards is that of all elements of its window so far",
}
"""Transcripts that the reference does not give, with what is wrong there."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.xfail(reason=DISPUTED[name])) if name in DISPUTED else name
        for name in TRANSCRIPTS
    ],
)
def test_a_transcript_holds_on_the_reference(name: str) -> None:
    TRANSCRIPTS[name].check()


@pytest.mark.parametrize("name", [name for name in RUN if name not in DISPUTED])
def test_a_transcript_holds_on_the_engine_without_spark(name: str) -> None:
    transcript = RUN[name]
    try:
        _on_the_kernel(transcript, transcript.scenes())
        if transcript.batch is not None:
            _on_the_kernel(transcript, (transcript.batch_scene(),))
    except SubmissionError as error:
        if name not in NOT_YET or error.code not in MISSING:
            raise
        pytest.xfail(error.what)
    assert name not in NOT_YET, "the engine knows it now: strike it from NOT_YET"


def _on_the_kernel(transcript: Transcript, scenes: tuple[Scene, ...]) -> None:
    from tests.spark.in_process import InProcess

    rows = [element.row for scene in scenes for epoch in scene.epochs for element in epoch.elements]
    source = transcript.pipeline().source
    frame = pl.DataFrame({column: [row[column] for row in rows] for column in transcript.columns}, strict=False)
    schema = {
        column: pl.String() if dtype == pl.Null else dtype
        for column, dtype in frame.schema.items()
        if column not in source.columns()
    }
    engine = InProcess(transcript.pipeline(), schema)
    transcript.check_step_by_step(engine.epoch, scenes)
    assert engine.report.read == len(rows)
    if transcript.counts is not None and scenes == transcript.scenes():
        assert (engine.report.late, engine.report.expired) == (transcript.counts.late, transcript.counts.expired)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(("name", "engine"), ON_SPARK, ids=lambda part: part)
def test_a_transcript_holds_on_spark(name: str, engine: str) -> None:
    RUN[name].check(engine)
