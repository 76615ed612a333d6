"""Every transcript on the reference, on the engine without Spark, and, where it says so, on Spark."""

from __future__ import annotations

import polars as pl
import pytest

from airflow_dataflow_provider.testing.transcript import Scene, Transcript
from tests.spark.in_process import InProcess
from tests.transcripts.files import NEEDS_SPARK, ON_SPARK, RUN, TRANSCRIPTS


@pytest.mark.parametrize("name", [name for name in TRANSCRIPTS if name not in NEEDS_SPARK])
def test_a_transcript_holds_on_the_reference(name: str) -> None:
    TRANSCRIPTS[name].check()


@pytest.mark.parametrize("name", [name for name in RUN if name not in NEEDS_SPARK])
def test_a_transcript_holds_on_the_engine_without_spark(name: str) -> None:
    transcript = RUN[name]
    _on_the_kernel(transcript, transcript.scenes())
    if transcript.batch is not None:
        _on_the_kernel(transcript, (transcript.batch_scene(),))


def _on_the_kernel(transcript: Transcript, scenes: tuple[Scene, ...]) -> None:
    engine = engine_of(transcript, scenes)
    transcript.check_step_by_step(engine.epoch, scenes)
    assert engine.rows.read == sum(len(epoch.elements) for scene in scenes for epoch in scene.epochs)
    if transcript.counts is not None and scenes == transcript.scenes():
        assert (engine.rows.late, engine.rows.expired) == (transcript.counts.late, transcript.counts.expired)


def engine_of(transcript: Transcript, scenes: tuple[Scene, ...]) -> InProcess:
    """The engine with an empty state, for the types that the elements have."""
    rows = [element.row for scene in scenes for epoch in scene.epochs for element in epoch.elements]
    pipeline = transcript.pipeline()
    frame = pl.DataFrame({column: [row[column] for row in rows] for column in transcript.columns}, strict=False)
    return InProcess(
        pipeline,
        {
            column: pl.String() if dtype == pl.Null else dtype
            for column, dtype in frame.schema.items()
            if column not in pipeline.source.columns()
        },
    )


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("name", "engine"),
    [pytest.param(name, mode, id=f"{name}-{mode}") for name, mode in ON_SPARK],
)
def test_a_transcript_holds_on_spark(name: str, engine: str) -> None:
    RUN[name].check(engine)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", sorted(NEEDS_SPARK))
def test_a_transcript_with_expressions_of_spark_holds_on_the_reference(name: str) -> None:
    RUN[name].check()
