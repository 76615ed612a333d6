"""How much of an input is waited for."""

from __future__ import annotations

import pytest

from airflow_dataflow_provider.progress.log.left_out import LeftOut
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.spark.sources.stragglers import Share


def there(**sizes: int) -> tuple[Split, ...]:
    """What a listing finds."""
    return tuple(Split(path, size) for path, size in sizes.items())


def test_it_waits_for_the_share_of_the_bytes_not_of_the_files() -> None:
    share = Share.over(there(a=10, b=10, c=980), None, 0.95)
    assert (share.of, share.enough) == (1000, 950)
    assert share.at_least() == there(a=10, b=10, c=980)


@pytest.mark.parametrize(("share", "enough"), [(0.5, 2), (0.34, 2), (0.33, 1), (0.001, 1), (0.999, 3)])
def test_it_never_waits_for_less_than_the_share(share: float, enough: int) -> None:
    waited_for = Share.over(there(a=1, b=1, c=1), None, share)
    assert waited_for.enough == enough == len(waited_for.at_least())


def test_a_share_with_a_decimal_is_that_share() -> None:
    assert Share.over(there(a=1000), None, 0.999).enough == 999
    assert Share.over(there(a=10**15), None, 0.701).enough == 701 * 10**12


def test_an_empty_file_counts_so_that_leaving_it_out_shows() -> None:
    share = Share.over(there(a=99, b=0), None, 0.99)
    assert (share.of, share.enough) == (100, 99)
    assert LeftOut(there(b=0), share.of).percent_read == 99


def test_with_new_files_what_was_left_out_is_part_of_the_input() -> None:
    before = LeftOut(there(old=50), of=1000)
    share = Share.over(there(old=50, a=75, b=75), before, 0.90)
    assert (share.of, share.enough) == (200, 180)


def test_what_is_still_away_is_part_of_the_input_too() -> None:
    before = LeftOut(there(old=50), of=1000)
    share = Share.over(there(a=75, b=75), before, 0.90)
    assert (share.of, share.enough) == (200, 180), "more than is there: all of it is read"


def test_without_new_files_the_input_is_that_of_the_batch_that_left_them_out() -> None:
    left = there(old=30, older=20)
    before = LeftOut(left, of=1000)
    assert Share.over(left, before, 0.95).enough == 0, "as much is read already"
    assert Share.over(left, before, 0.97).enough == 20
    assert Share.over(left, before, 0.97).of == 1000
