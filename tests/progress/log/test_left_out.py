from __future__ import annotations

import pytest

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.left_out import LeftOut, left_out_after
from airflow_dataflow_provider.progress.log.split import Split


@pytest.mark.parametrize(
    ("files", "of", "words"),
    [
        ((Split("a", 1),), 10, "1 file, 1 byte, 10 % of the input"),
        ((Split("a", 400), Split("b", 599)), 100_000, "2 files, 999 bytes, 0.999 % of the input"),
        ((Split("a", 12_340_000),), 250_000_000, "1 file, 12.3 MB, 4.94 % of the input"),
        ((Split("a", 5_000_000_000),), 5_000_000_000, "1 file, 5 GB, 100 % of the input"),
    ],
)
def test_what_is_left_out_is_told_in_files_in_bytes_and_as_a_share(
    files: tuple[Split, ...], of: int, words: str
) -> None:
    left_out = LeftOut(files, of)
    assert left_out.describe() == words
    assert LeftOut.from_json(left_out.to_json()) == left_out


@pytest.mark.parametrize(("files", "of"), [((), 10), ((Split("a", -1),), 10), ((Split("a", 11),), 10)])
def test_what_is_no_part_of_an_input_is_refused(files: tuple[Split, ...], of: int) -> None:
    with pytest.raises(StateError):
        LeftOut(files, of)


def test_with_new_files_the_share_that_is_read_is_that_of_the_new_input() -> None:
    before = LeftOut((Split("old", 50),), of=1000)
    new = (Split("a", 75), Split("b", 75))
    left_out = left_out_after(before, (*before.files, *new), {"a", "b"})
    assert left_out == LeftOut(before.files, of=200)
    assert left_out_after(before, (), ()) == before
    assert left_out_after(before, before.files, {"old"}) is None
