"""The ten-point example: what the paper's figures show is what the reference publishes, pane for pane."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_dataflow_provider import ACCUMULATING_AND_RETRACTING, DISCARDING
from airflow_dataflow_provider.model.elements import Pane
from airflow_dataflow_provider.reference.interpreter import interpret
from airflow_dataflow_provider.testing.panes import assert_panes, pane
from tests.reference.ten_points import FIGURES, TWO_MINUTES, Figure, as_a_stream, summing


def story(panes: Sequence[Pane]) -> list[tuple[int, str]]:
    return [(-pane.values["total"] if pane.is_retraction else pane.values["total"], pane.timing) for pane in panes]


@pytest.mark.parametrize("figure", FIGURES, ids=str)
def test_a_figure_is_reproduced_pane_for_pane(figure: Figure) -> None:
    assert_panes(figure.stream.run(), figure.panes)


@pytest.mark.parametrize("figure", FIGURES, ids=str)
def test_a_figure_is_published_in_the_order_in_which_it_is_told(figure: Figure) -> None:
    assert [got.values for got in figure.stream.run()] == [wanted.values for wanted in figure.panes]


def test_only_the_nine_is_late_in_the_streaming_figure() -> None:
    stream = as_a_stream(summing(TWO_MINUTES))
    outcome = interpret(stream.pipeline, stream.epochs())
    assert (outcome.counts.read, outcome.counts.late, outcome.counts.expired) == (10, 1, 0)


def test_the_streaming_figure_discarding_publishes_the_nine_alone() -> None:
    panes = as_a_stream(summing(TWO_MINUTES, refinement=DISCARDING)).run()
    assert story(panes) == [(5, "ON_TIME"), (22, "ON_TIME"), (3, "ON_TIME"), (9, "LATE"), (12, "ON_TIME")]


def test_the_streaming_figure_retracting_takes_the_five_back_before_the_fourteen() -> None:
    panes = as_a_stream(summing(TWO_MINUTES, refinement=ACCUMULATING_AND_RETRACTING)).run()
    assert story(panes) == [
        (5, "ON_TIME"), (22, "ON_TIME"), (3, "ON_TIME"), (-5, "LATE"), (14, "LATE"), (12, "ON_TIME"),
    ]  # fmt: skip
    assert_panes(
        [panes[3]],
        [
            pane(
                "k", "12:00", "12:02", total=5, pane_is_retraction=True, pane_timing="LATE", pane_index=0,
                pane_is_first=False, pane_is_last=False, processing_time="12:08:19", watermark="12:06", completeness=1,
            )
        ],
    )  # fmt: skip
