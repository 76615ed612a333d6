"""The figures of the ten-point example, on every engine that each of them names."""

from __future__ import annotations

import pytest

from airflow_dataflow_provider import ACCUMULATING_AND_RETRACTING, DISCARDING
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.reference.ten_points import FIGURES, TWO_MINUTES, Figure, as_a_stream, summing

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

ENGINES = {
    6: ("spark-batch", "spark-micro-batch", "spark-streaming"),
    10: ("spark-batch", "spark-micro-batch", "spark-streaming"),
    11: ("spark-micro-batch", "spark-streaming"),
    7: ("spark-streaming",),
    8: ("spark-streaming",),
    9: ("spark-streaming", "spark-micro-batch"),
    12: ("spark-streaming",),
    13: ("spark-streaming",),
    14: ("spark-streaming", "spark-micro-batch"),
}


@pytest.mark.parametrize(
    ("figure", "engine"),
    [
        pytest.param(figure, engine, id=f"{figure} on {engine}")
        for figure in FIGURES
        for engine in ENGINES[figure.number]
    ],
)
def test_a_figure_is_reproduced_on_spark_pane_for_pane(figure: Figure, engine: str) -> None:
    assert_panes(figure.stream.run(engine), figure.panes)


@pytest.mark.parametrize("refinement", [DISCARDING, ACCUMULATING_AND_RETRACTING])
def test_scheduled_runs_give_the_panes_of_the_reference_in_every_refinement(refinement: object) -> None:
    stream = as_a_stream(summing(TWO_MINUTES, refinement=refinement))  # type: ignore[arg-type]
    assert_panes(stream.run("spark-micro-batch"), stream.run())
