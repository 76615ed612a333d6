"""JSON lines: each object is read as what it says, or its line is set aside with the reason."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from airflow_dataflow_provider import INGRESS_TIME, DataError, Files, SubmissionError
from airflow_dataflow_provider.model.par_do import EVENT_TIME
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.spark.sources.first_file import check_columns
from airflow_dataflow_provider.spark.sources.json_lines import JsonLinesReader
from airflow_dataflow_provider.spark.sources.reading import Read, column_types, columns_of_elements, read

NOW = to_micros("2026-01-01T00:00:00Z")
NOON = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)


def put(folder: Path, name: str, content: str | bytes) -> str:
    file = folder / f"{name}.jsonl"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(file)


def read_after(
    folder: Path, first: str | bytes, later: str | bytes, columns: tuple[str, ...] = ("value",), **options: Any
) -> Read:
    """Read text as a file that comes after another of its source."""
    one, other = put(folder, "first", first), put(folder, "later", later)
    source = Files(str(folder), **{"event_time": INGRESS_TIME, "format": "jsonl", **options})
    schema = check_columns(source, (*source.columns(), *columns), column_types(source, one), one)
    return read(source, schema, other, NOW)


def reasons(found: Read) -> list[tuple[Any, ...]]:
    return found.rejected.select("_line", "_text", "_reason").rows() if len(found.rejected) else []


def test_a_key_that_is_missing_is_null_and_one_that_is_not_read_is_nothing(tmp_path: Path) -> None:
    found = read_after(tmp_path, '{"value": 1}', '{"value": 2, "new": [{}]}\n{}\n\n{"value": null}\n  \n{"value": 3}')
    assert found.rows["value"].to_list() == [2, None, None, 3]
    assert found.rejected.is_empty()


def test_a_line_with_a_value_of_another_kind_is_set_aside_with_file_and_line(tmp_path: Path) -> None:
    later = '{"value": 1}\n\n{"value": "7"}\n{"value": true}\n{"value": [1]}\n{"value": {"a": 1}}\n{"value": 1.5}\n'
    found = read_after(tmp_path, '{"value": 1}', later + '{"value": 2.0}\n{"value": 9223372036854775808}')
    assert found.rows["value"].to_list() == [1, 2]
    why = "value does not read as Int64"
    assert reasons(found) == [
        (3, '{"value": "7"}', why),
        (4, '{"value": true}', why),
        (5, '{"value": [1]}', why),
        (6, '{"value": {"a": 1}}', why),
        (7, '{"value": 1.5}', why),
        (9, '{"value": 9223372036854775808}', why),
    ]
    assert set(found.rejected["_file"]) == {str(tmp_path / "later.jsonl")}


@pytest.mark.parametrize(
    "line",
    [
        b"null", b"7", b"[]", b'[{"value": 1}]', b'"text"', b'{"value": 1', b'{"value": 1}}', b'{"value": 1},',
        b'{"value": 1} {"value": 2}', b"{'value': 1}", b'{"value": 01}', b'{"value": 1,}', b'{"value": NaN}',
        b'{"value": \x00}', b'{"value": Infinity}', b'{"value": 1e999}', b'{"value": "\xff"}', b'{"value": "\\ud800"}',
        b'{"value": "a\tb"}',
        b'{"value": 1}\x00', b"\x00", b"{value: 1}", b"not json", b'{"value": 1}null{"value": 1}',
        b"\xff\xff", b'{"value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"other": ' + b'{"a":' * 50_000,
    ],
    ids=lambda line: repr(line[:30]),
)  # fmt: skip
def test_a_line_that_is_no_object_is_set_aside_and_the_others_are_read(tmp_path: Path, line: bytes) -> None:
    found = read_after(tmp_path, '{"value": 1}', b'{"value": 1}\n' + line + b'\r\n{"value": 3}\n')
    assert found.rows["value"].to_list() == [1, 3]
    (only,) = reasons(found)
    assert only[:2] == (2, (line + b"\r").decode(errors="replace"))
    assert only[2].startswith("it is no JSON object: ")


def test_broken_lines_of_a_first_file_do_not_keep_a_run_from_starting(tmp_path: Path) -> None:
    found = read_after(tmp_path, 'x\n{"value": 1}\n{"val', '{"value": 2}')
    assert found.rows["value"].to_list() == [2]


def test_marks_and_line_ends_of_other_systems_are_no_content(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"value": 1}\r\n{"value": 2}\r\n\r\n'
    assert read_after(tmp_path, text, text).rows["value"].to_list() == [1, 2]


def test_a_file_in_utf_16_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="UTF-16") as refusal:
        read_after(tmp_path, '{"value": 1}', '{"value": 1}'.encode("utf-16"))
    assert refusal.value.code == "DATA_UNREADABLE"


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    for nothing in ("", "\n\n", " \r\n"):
        assert read_after(tmp_path, '{"value": 1}', nothing).rows.is_empty()
    later = '{"value": 1, "at": "2013-01-01T12:00:00Z"}'
    said = read_after(tmp_path, "", later, event_time="at", schema={"value": "int64"})
    assert said.rows.select("at", "value").rows() == [(NOON, 1)]
    with pytest.raises(SubmissionError) as refusal:
        read_after(tmp_path, "", "")
    assert refusal.value.code == "SOURCE_NO_COLUMN"
    assert "schema=" in refusal.value.hint


def test_no_element_is_lost_where_none_of_its_columns_is_wanted(tmp_path: Path) -> None:
    file = put(tmp_path, "x", '{"a": 1}\nx\n{}\n')
    found = read(Files(file, event_time=INGRESS_TIME), {}, file, NOW)
    assert found.rows.rows() == [(NOW, NOW)] * 2
    assert [line for line, _, _ in reasons(found)] == [2]


@pytest.mark.parametrize(
    ("lines", "dtype"),
    [
        (["1", "null", "-7"], pl.Int64()),
        (["1", "2.5"], pl.Float64()),
        (["1e2"], pl.Float64()),
        (["true", "false"], pl.Boolean()),
        (['"1"', '"007"'], pl.String()),
        (['"2013-01-01T00:00:00Z"'], pl.String()),
        (["[1, null]", "[]"], pl.List(pl.Int64())),
        (['{"a": 1}', '{"b": ["x"]}'], pl.Struct({"a": pl.Int64(), "b": pl.List(pl.String())})),
        (["null", "null"], None),
        (["1", '"x"'], None),
        (["true", "1"], None),
        (["9223372036854775808"], None),
        (["[]"], None),
        (["{}"], None),
        (['{"a": null}'], None),
        (['[1, "x"]'], None),
    ],
)
def test_a_column_has_the_type_of_its_values_or_has_to_be_said(
    tmp_path: Path, lines: list[str], dtype: pl.DataType | None
) -> None:
    text = "\n".join(f'{{"value": {line}, "other": 1}}' for line in lines)
    file = put(tmp_path, "x", text)
    source = Files(file, event_time=INGRESS_TIME)
    found = column_types(source, file)
    if dtype is not None:
        assert check_columns(source, ("value",), found, file) == {"value": dtype}
        return
    assert columns_of_elements(found) == ("other",)
    with pytest.raises(SubmissionError) as refusal:
        check_columns(source, ("value",), found, file)
    assert refusal.value.code == "SOURCE_COLUMN_TYPE"


@pytest.mark.parametrize(
    ("said", "written", "value"),
    [
        ("string", '"007"', "007"),
        ("string", r'"\u00e4\n\u0000"', "ä\n\0"),
        ("int64", "-9223372036854775808", -(2**63)),
        ("int64", "2.0", 2),
        ("int64", "1e2", 100),
        ("uint64", "18446744073709551615", 2**64 - 1),
        ("float64", "9007199254740992", 2.0**53),
        ("float64", "1e22", 1e22),
        ("float64", str(10**22), 1e22),
        ("boolean", "false", False),
        ("decimal(18,2)", "1.10", Decimal("1.10")),
        ("decimal(38,18)", "0.123456789012345678", Decimal("0.123456789012345678")),
        ("decimal(38,0)", str(10**37 + 1), Decimal(10**37 + 1)),
        ("decimal(18,2)", '"1.10"', Decimal("1.10")),
        ("decimal(18,2)", "7", Decimal(7)),
        ("date", '"9999-12-31"', dt.date(9999, 12, 31)),
        ("timestamp", '"2013-01-01T13:00:00+01:00"', NOON),
        ("timestamp", r'"2013-01-01T12:00:00\u005a"', NOON),
    ],
)
def test_what_a_column_is_said_to_be_counts(tmp_path: Path, said: str, written: str, value: Any) -> None:
    found = read_after(tmp_path, "{}", f'{{"value": {written}}}\n{{"value": null}}', schema={"value": said})
    assert found.rows["value"].to_list() == [value, None]


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("string", "7"),
        ("string", "true"),
        ("string", "{}"),
        ("int64", '"7"'),
        ("int64", "true"),
        ("int64", "1.5"),
        ("int64", "1e300"),
        ("uint64", "-1"),
        ("uint64", "18446744073709551616"),
        ("float64", "9007199254740993"),
        ("float64", "1" * 400),
        ("float64", '"NaN"'),
        ("boolean", "1"),
        ("boolean", '"true"'),
        ("decimal(6,2)", "1.005"),
        ("decimal(6,2)", "1e2"),
        ("decimal(6,2)", "99999.00"),
        ("decimal(6,2)", '"NaN"'),
        ("decimal(6,2)", '"1_0"'),
        ("decimal(6,2)", "true"),
        ("decimal(6,2)", "[1]"),
        ("date", '"2013-02-30"'),
        ("date", '"+12013-01-01"'),
        ("timestamp", '"2013-01-01T12:00:00"'),
        ("timestamp", "1357041600"),
        ("timestamp", '{"$date": "2013-01-01T12:00:00Z"}'),
    ],
)
def test_a_value_that_is_none_of_the_said_type_is_rejected(tmp_path: Path, said: str, written: str) -> None:
    found = read_after(tmp_path, "{}", f'{{"value": {written}}}\n{{}}', schema={"value": said})
    assert found.rows["value"].to_list() == [None]
    assert [(line, text) for line, text, _ in reasons(found)] == [(1, f'{{"value": {written}}}')]


def test_nested_values_keep_their_keys_and_kinds(tmp_path: Path) -> None:
    first = '{"value": {"id": 1, "tags": ["a"], "at": {"x": 0.5}}}'
    later = (
        '{"value": {"id": 2}}\n{"value": {"tags": [null], "new": 1}}\n{"value": {"id": "2"}}\n'
        '{"value": {"tags": [1]}}\n{"value": {"at": {"x": 1}}}\n{"value": []}\n{"value": {"at": []}}'
    )
    found = read_after(tmp_path, first, later)
    assert found.rows["value"].to_list() == [
        {"id": 2, "tags": None, "at": None},
        {"id": None, "tags": [None], "at": None},
        {"id": None, "tags": None, "at": {"x": 1.0}},
    ]
    assert [line for line, _, _ in reasons(found)] == [3, 4, 6, 7]


def test_nested_values_of_which_the_first_file_has_none_can_be_said(tmp_path: Path) -> None:
    said = {"value": "struct<id:int64,tags:list<string>,at:struct<x:float64,big:uint64>>"}
    later = (
        '{"value": {"id": 1, "tags": ["a", null], "at": {"x": 1, "big": 18446744073709551615}}}\n{"value": {"tags": 1}}'
    )
    found = read_after(tmp_path, '{"value": {"id": null, "tags": []}}', later, schema=said)
    assert found.rows["value"].to_list() == [{"id": 1, "tags": ["a", None], "at": {"x": 1.0, "big": 2**64 - 1}}]
    assert [line for line, _, _ in reasons(found)] == [2]


def test_times_are_read_as_they_are_said_to_be_written(tmp_path: Path) -> None:
    counts = ["1357041600000", '"1357041600000"', "1357041600000.5", "1e3", "true", "null", '"x"', "-1e400"]
    text = "\n".join(f'{{"at": {count}}}' for count in counts)
    found = read_after(tmp_path, '{"at": 0}', text, (), event_time="at", time_format="epoch_milliseconds")
    noon = to_micros("2013-01-01T12:00:00Z")
    assert found.rows[EVENT_TIME].to_list() == [noon, noon, noon + 500]
    assert [line for line, _, _ in reasons(found)] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize(
    ("at", "code", "hint"),
    [
        ("1357041600", "SOURCE_EVENT_TIME_TYPE", "epoch_seconds"),
        ('"01.01.2013 12:00"', "SOURCE_EVENT_TIME_TYPE", "time_format"),
        ('"2013-01-01T12:00:00"', "SOURCE_NAIVE_TIME", "time_zone"),
        ('"2013-01-01 12:00:00.5"', "SOURCE_NAIVE_TIME", "time_zone"),
    ],
)
def test_times_of_which_none_can_be_read_are_refused_before_anything_runs(
    tmp_path: Path, at: str, code: str, hint: str
) -> None:
    with pytest.raises(SubmissionError) as refusal:
        read_after(tmp_path, f'{{"at": {at}}}\n{{"at": null}}', "", (), event_time="at")
    assert refusal.value.code == code
    assert hint in refusal.value.hint


def test_rejected_rows_come_in_the_order_of_lines(tmp_path: Path) -> None:
    good = '{"at": "2013-01-01T12:00:00Z", "value": 1}'
    text = '{"at": "2013-01-01T12:00:00Z", "value": "x"}'
    later = f'{good}\n{{"value": 2}}\n{text}\nx\n{{"at": "0001-01-01T00:00:00Z"}}'
    found = read_after(tmp_path, good, later, event_time="at")
    assert found.rows["value"].to_list() == [1]
    assert [(line, reason.split(":")[0]) for line, _, reason in reasons(found)] == [
        (2, "at is null"),
        (3, "value does not read as Int64"),
        (4, "it is no JSON object"),
        (5, "at is not in the years 1000 to 8999"),
    ]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=4),
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
)


def same(read_as: Any, value: Any) -> bool:
    """Whether a value is what was written: equal, of its kind; keys that are missing are null, others are not read."""
    if isinstance(read_as, dict) and isinstance(value, dict):
        return all(same(each, value.get(name)) for name, each in read_as.items())
    if isinstance(read_as, list) and isinstance(value, list):
        return len(read_as) == len(value) and all(map(same, read_as, value))
    kinds = [(int, float) if type(each) in {int, float} else type(each) for each in (read_as, value)]
    return kinds[0] == kinds[1] and read_as == value


@given(st.lists(VALUES, min_size=1, max_size=3), st.lists(VALUES, max_size=5))
def test_no_value_is_changed_whatever_the_first_file_held(first: list[Any], later: list[Any]) -> None:
    with_both = []
    for values in (first, later):
        lines = "\n".join(json.dumps({"value": value}, ensure_ascii=False) for value in values)
        with_both.append(lines.encode(errors="surrogatepass"))
    source = Files("x.jsonl", event_time=INGRESS_TIME)
    texts = iter(with_both)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("airflow_dataflow_provider.spark.sources.json_lines.text_of", lambda *_: next(texts))
        dtype = JsonLinesReader(source, "x.jsonl").found().types["value"]
        event(str(dtype.base_type()))
        if dtype in (pl.Null, pl.Unknown):
            return
        found = read(source, {"value": dtype}, "x.jsonl", NOW)
    rejected = {line - 1 for line, _, _ in reasons(found)}
    taken = [value for place, value in enumerate(later) if place not in rejected]
    assert len(taken) == len(found.rows)
    for read_as, value in zip(found.rows["value"].to_list(), taken, strict=True):
        assert same(read_as, value)
    assert all(later[place] is not None for place in rejected)


def test_infinite_numbers_are_never_made(tmp_path: Path) -> None:
    found = read_after(tmp_path, '{"value": 0.5}', '{"value": 1e308}\n{"value": 1e309}\n{"value": -1e309}')
    assert [math.isfinite(value) for value in found.rows["value"]] == [True]
