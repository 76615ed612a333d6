"""The hash of a key never changes, and is the same one key at a time as for whole columns."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_dataflow_provider.model import hashing
from airflow_dataflow_provider.model.hashing import key_hash
from airflow_dataflow_provider.spark.values.hashing import key_hash as of_columns
from airflow_dataflow_provider.spark.values.hashing import partition_of

TYPES: dict[Any, st.SearchStrategy[Any]] = {
    pl.String(): st.text(),
    pl.Int64(): st.integers(-(2**63), 2**63 - 1),
    pl.Int8(): st.integers(-128, 127),
    pl.UInt64(): st.integers(0, 2**64 - 1),
    pl.Boolean(): st.booleans(),
    pl.Date(): st.dates(),
    pl.Datetime("us", "UTC"): st.datetimes(timezones=st.just(dt.UTC)),
}


@pytest.mark.parametrize("kind", TYPES, ids=str)
@given(data=st.data())
def test_the_hash_of_one_key_is_that_of_its_column(kind: Any, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.none() | TYPES[kind], min_size=1, max_size=20))
    hashes = of_columns([pl.Series("key", values, dtype=kind)])
    assert hashes.tolist() == [key_hash((value,)) for value in values]


@given(st.lists(st.tuples(st.none() | st.text(), st.none() | st.integers(-(2**63), 2**63 - 1)), min_size=1))
@example([("", None), (None, 0), (None, None), ("a", 1)])
def test_a_key_of_several_columns_is_folded_in_their_order(keys: list[tuple[str | None, int | None]]) -> None:
    texts, numbers = zip(*keys, strict=True)
    columns = [pl.Series("text", texts, dtype=pl.String()), pl.Series("number", numbers, dtype=pl.Int64())]
    assert of_columns(columns).tolist() == [key_hash(key) for key in keys]
    assert partition_of(columns, 7).tolist() == [key_hash(key) % 7 for key in keys]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ((), 0),
        ((None,), 16294208416658607535),
        (("",), 17665956581633026203),
        (("user 1",), 124144166950530558),
        ((0,), 5197578548964807871),
        ((-1,), 4922461756044938104),
        ((True,), 15916886550466581944),
        ((dt.date(2013, 1, 1),), 14036825002611517529),
        ((dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC),), 10347719719364513765),
        (("user 1", 7), 2469356499373730635),
    ],
    ids=repr,
)
def test_the_hash_of_a_key_is_the_number_that_states_stand_on(key: tuple[object, ...], expected: int) -> None:
    assert key_hash(key) == expected


@pytest.mark.parametrize(
    ("text", "published"),
    [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)],
)
def test_a_text_is_hashed_as_the_authors_of_the_function_publish_it(text: str, published: int) -> None:
    assert hashing._fnv1a(text.encode()) == published


def test_numbers_are_mixed_as_the_author_of_the_mixer_publishes_it() -> None:
    # The first outputs of SplitMix64 from the seed 0.
    assert [hashing._hash(number * hashing._NULL % 2**64) for number in (0, 1, 2)] == [
        0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F,
    ]  # fmt: skip


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_null_an_empty_text_and_a_zero_are_different_keys(number: int) -> None:
    assert len({key_hash((None,)), key_hash(("",)), key_hash((0,))}) == 3
    assert key_hash((number, "")) != key_hash(("", number))


def test_an_instant_is_the_same_key_in_whatever_zone() -> None:
    utc = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
    assert key_hash((utc,)) == key_hash((utc.astimezone(dt.timezone(dt.timedelta(hours=5))),))
