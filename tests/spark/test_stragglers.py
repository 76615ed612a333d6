"""How much of an input is waited for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from airflow_dataflow_provider.progress.left_out import LeftOut
from airflow_dataflow_provider.spark.stragglers import Share


def listed(**sizes: int) -> Any:
    """What Spark hands out."""
    return SimpleNamespace(collect=lambda: [{"path": path, "length": size} for path, size in sizes.items()])


def test_it_waits_for_the_share_of_the_bytes_not_of_the_files() -> None:
    share = Share.over(listed(a=10, b=10, c=980), None, 95)
    assert (share.of, share.enough) == (1000, 950)


@pytest.mark.parametrize(("percentile", "enough"), [(50, 2), (34, 2), (33, 1), (0.1, 1), (99.9, 3)])
def test_it_never_waits_for_less_than_the_share(percentile: float, enough: int) -> None:
    assert Share.over(listed(a=1, b=1, c=1), None, percentile).enough == enough


def test_a_share_with_a_decimal_is_that_share() -> None:
    assert Share.over(listed(a=1000), None, 99.9).enough == 999
    assert Share.over(listed(a=10**15), None, 70.1).enough == 701 * 10**12


def test_an_empty_file_counts_so_that_leaving_it_out_shows() -> None:
    share = Share.over(listed(a=99, b=0), None, 99)
    assert share.left_out(["a"]) == LeftOut((("b", 1),), of=100)
    assert share.left_out(["a", "b"]) is None


def test_with_new_files_what_was_left_out_is_part_of_the_input() -> None:
    before = LeftOut((("old", 50),), of=1000)
    share = Share.over(listed(a=75, b=75), before, 90)
    assert (share.splits, share.of, share.enough) == ((("old", 50), ("a", 75), ("b", 75)), 200, 180)


def test_without_new_files_the_input_is_that_of_the_batch_that_left_them_out() -> None:
    before = LeftOut((("old", 30), ("older", 20)), of=1000)
    assert Share.over(None, before, 95).enough == 0, "as much is read already"
    assert Share.over(None, before, 97).enough == 20
    assert Share.over(None, before, 97).left_out(["older"]) == LeftOut((("old", 30),), of=1000)
