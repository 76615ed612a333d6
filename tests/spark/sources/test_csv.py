"""CSV: each row is read as what it says, or set aside with the reason; none is cut, filled up or swallowed."""

from __future__ import annotations

import datetime as dt
import io
import math
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from airflow_dataflow_provider import INGRESS_TIME, Csv, DataError, DefinitionError, Files, SubmissionError
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.spark.sources import conversion, csv_files
from airflow_dataflow_provider.spark.sources.first_file import check_columns
from airflow_dataflow_provider.spark.sources.reading import Read, column_types, read

NOW = to_micros("2026-01-01T00:00:00Z")


def read_after(folder: Path, first: str, later: str, columns: tuple[str, ...] = ("value",), **options: Any) -> Read:
    """Read text as a file that comes after another of its source."""
    for name, text in (("first", first), ("later", later)):
        (folder / f"{name}.csv").write_text(text, newline="")
    source = Files(str(folder), **{"event_time": INGRESS_TIME, "format": "csv", **options})
    file = str(folder / "first.csv")
    schema = check_columns(source, columns, column_types(source, file), file)
    return read(source, schema, str(folder / "later.csv"), NOW)


def test_rows_with_too_few_or_too_many_fields_are_set_aside_as_they_are(tmp_path: Path) -> None:
    text = 'key,value\na,1\nb\n\nc,3,"x\ny"\nd,\n'
    found = read_after(tmp_path, text, text, ("key", "value"))
    assert found.rows["key", "value"].rows() == [("a", 1), ("d", None)]
    file = str(tmp_path / "later.csv")
    assert found.rejected.select("_text", "_reason", "_file", "_line").rows() == [
        ("b", "it has 1 fields, not 2", file, 3),
        ('c,3,"x\ny"', "it has 3 fields, not 2", file, 5),
    ]


def test_rows_that_are_none_stand_beside_rows_that_do_not_read(tmp_path: Path) -> None:
    found = read_after(tmp_path, "key,value\na,1\n", "key,value\na,1\nb\nc,many\n", ("value",))
    assert found.rows["value"].to_list() == [1]
    assert found.rejected.select("key", "value", "_text", "_reason", "_line").rows() == [
        (None, None, "b", "it has 1 fields, not 2", 3),
        ("c", "many", None, "value does not read as Int64", 4),
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('key,value\na,1\nb,"2\nc,3\n', "never closed"),
        ('key,value\na,1\n"b,2\nc,3\n', "never closed"),
        ("key,value\na,ä\n".encode("latin-1"), "utf-8"),
        ("", "no header"),
        ("key,key\na,1\n", "'key' twice"),
    ],
)
def test_a_file_that_is_no_csv_is_refused_by_name(tmp_path: Path, text: str | bytes, says: str) -> None:
    file = tmp_path / "x.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataError, match=says) as refusal:
        read(Files(str(file), event_time=INGRESS_TIME), {"key": pl.String(), "value": pl.String()}, str(file), NOW)
    assert refusal.value.code == "DATA_UNREADABLE"
    assert str(file) in refusal.value.what


def test_a_single_column_is_closed_by_its_last_quote(tmp_path: Path) -> None:
    assert read_after(tmp_path, "value\na\n", 'value\na\n\n"b"\n').rows["value"].to_list() == ["a", None, "b"]
    with pytest.raises(DataError, match="never closed"):
        read_after(tmp_path, "value\na\n", 'value\na\n"b\n')


def test_a_later_file_without_a_column_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError) as refusal:
        read_after(tmp_path, "value,other\n1,2\n", "other\n2\n")
    assert refusal.value.code == "DATA_COLUMN_MISSING"


def test_an_empty_field_is_null_and_an_empty_quote_is_empty_text(tmp_path: Path) -> None:
    text = 'key,value\n"",a\n,b\n'
    assert read_after(tmp_path, text, text, ("key",)).rows["key"].to_list() == ["", None]


@pytest.mark.parametrize("text", ["007", "-01", "00", "01.5"])
def test_numbers_with_leading_zeros_are_codes(tmp_path: Path, text: str) -> None:
    assert read_after(tmp_path, f"value\n{text}\n7\n", f"value\n{text}\n").rows["value"].to_list() == [text]
    later = read_after(tmp_path, "value\n7\n", f"value\n{text}\n8\n")
    assert later.rows["value"].to_list() == [8]
    assert later.rejected["value"].to_list() == [text]


def test_what_a_column_is_said_to_be_counts(tmp_path: Path) -> None:
    text = "a,b,c,d,e,f,g\n007,007,1.10,1,2013-01-01,2013-01-01T01:00:00+01:00,TRUE\n"
    said = {
        "a": "string", "b": "int64", "c": "decimal(6,2)", "d": "float64", "e": "date", "f": "timestamp", "g": "boolean",
    }  # fmt: skip
    found = read_after(tmp_path, text, text, tuple("abcdefg"), schema=said)
    noon = dt.datetime(2013, 1, 1, tzinfo=dt.UTC)
    assert found.rows.select(list("abcdefg")).rows() == [
        ("007", 7, Decimal("1.10"), 1.0, dt.date(2013, 1, 1), noon, True)
    ]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("decimal(6,2)", "1.005"),
        ("decimal(6,2)", "99999.00"),
        ("decimal(6,2)", "1e2"),
        ("int64", "9223372036854775808"),
        ("int64", "1.0"),
        ("uint64", "-1"),
        ("float64", "9007199254740993"),
        ("float64", "1e999"),
        ("float64", "1" * 50),
        ("boolean", "yes"),
        ("date", "2013-13-01"),
        ("date", "+12013-01-01"),
        ("timestamp", "2013-01-01T00:00:00"),
        ("timestamp", "+12013-01-01T00:00:00Z"),
    ],
)
def test_text_that_is_none_of_the_said_type_is_rejected(tmp_path: Path, said: str, text: str) -> None:
    found = read_after(tmp_path, "value\n", f"value\n{text}\n", schema={"value": said})
    assert found.rows.is_empty()
    assert found.rejected["value"].to_list() == [text]
    assert found.rejected["_file"].to_list() == [str(tmp_path / "later.csv")]


def test_a_said_column_that_no_file_has_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(SubmissionError) as refusal:
        read_after(tmp_path, "value\n1\n", "value\n1\n", schema={"valeu": "int64"})
    assert refusal.value.code == "SOURCE_NO_COLUMN"


def test_a_parquet_file_of_another_kind_than_said_is_refused_before_anything_runs(tmp_path: Path) -> None:
    file = str(tmp_path / "x.parquet")
    pl.DataFrame({"value": [1.5]}).write_parquet(file)
    with pytest.raises(SubmissionError) as refusal:
        column_types(Files(file, event_time=INGRESS_TIME, schema={"value": "string"}), file)
    assert refusal.value.code == "SOURCE_COLUMN_TYPE"
    assert column_types(Files(file, event_time=INGRESS_TIME, schema={"value": "int64"}), file) == {"value": pl.Int64()}


def test_a_schema_is_a_value() -> None:
    one = Files("x.csv", event_time="at", schema={"b": " Decimal(18, 2) ", "a": "string"})
    other = Files("x.csv", event_time="at", schema={"a": "string", "b": "decimal(18,2)"})
    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == "Files('x.csv', event_time='at', schema={'a': 'string', 'b': 'decimal(18,2)'})"
    assert eval(repr(one), {"Files": Files}) == one
    assert repr(one.identity()) == repr(one)
    assert one.identity() != Files("x.csv", event_time="at").identity()


@pytest.mark.parametrize(
    "schema",
    [
        {"a": "text"}, {"a": "decimal(39,2)"}, {"a": "decimal(2,3)"}, {"a": int}, {"_a": "string"}, {1: "string"},
        {"at": "string"}, "a: string", [("a", "string")],
    ],
)  # fmt: skip
def test_a_schema_that_names_no_types_is_refused(schema: Any) -> None:
    with pytest.raises(DefinitionError) as refusal:
        Files("x.csv", event_time="at", schema=schema)
    assert refusal.value.code == "DEFINITION_SOURCE"


def rejected(found: Read, *columns: str) -> list[tuple[Any, ...]]:
    return found.rejected.select(*columns).rows() if len(found.rejected) else []


def test_separators_quotes_and_null_words_are_what_the_source_says(tmp_path: Path) -> None:
    form = Csv(separator=";", quote="'", null_values=("NA", "\\N"))
    text = "key;value\n'a;b';1\nNA;\\N\n'NA';2\n;3\n'';4\n\"x\";5\nit''s;6\n'it''s\n';7\n"
    found = read_after(tmp_path, text, text, ("key", "value"), format=form)
    assert found.rows["key", "value"].rows() == [
        ("a;b", 1), (None, None), ("NA", 2), (None, 3), ("", 4), ('"x"', 5), ("it''s", 6), ("it's\n", 7),
    ]  # fmt: skip


def test_without_quotes_a_quotation_mark_is_a_character_like_any_other(tmp_path: Path) -> None:
    text = 'key\tvalue\n5"\t1\n"a\t2\n"x\ty"\t3\n'
    found = read_after(tmp_path, text, text, ("key", "value"), format=Csv(separator="\t", quote=None))
    assert found.rows["key", "value"].rows() == [('5"', 1), ('"a', 2)]
    assert rejected(found, "_text", "_line") == [('"x\ty"\t3', 4)]


def test_files_without_a_header_have_the_columns_that_are_named(tmp_path: Path) -> None:
    form = Csv(columns=("key", "value"))
    found = read_after(tmp_path, "a,1\n", "\nb,2\nc\nd,x\n\n,3", ("key", "value"), format=form)
    assert found.rows["key", "value"].rows() == [("b", 2), (None, 3)]
    assert rejected(found, "_line", "_text", "key") == [(3, "c", None), (4, None, "d")]
    for nothing in ("", "\ufeff", "\n", "\r\n\r\n"):
        assert read_after(tmp_path, "a,1\n", nothing, ("key",), format=form).rows.is_empty()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("last", ["", "\n", "\n\n"])
def test_marks_and_line_ends_are_no_content(tmp_path: Path, end: str, mark: str, last: str) -> None:
    text = mark + 'key,value\na,1\n\n"b\nc",2\nd\ne,x\nf,3'.replace("\n", end) + last.replace("\n", end)
    found = read_after(tmp_path, text, text.replace("e,x", "e,7"), ("key", "value"))
    assert found.rows["key", "value"].rows() == [("a", "1"), (f"b{end}c", "2"), ("e", "7"), ("f", "3")]
    assert rejected(found, "_text", "_line") == [("d", 6)]
    bare = mark + "a,1\nd\n".replace("\n", end)
    assert rejected(read_after(tmp_path, bare, bare, ("key",), format=Csv(columns=("key", "value"))), "_line") == [(2,)]


def test_a_nul_is_a_character_like_any_other(tmp_path: Path) -> None:
    found = read_after(tmp_path, "key,value\na,1\n", "key,value\n\0,1\nb,\x002\n", ("key", "value"))
    assert found.rows["key", "value"].rows() == [("\0", 1)]
    assert rejected(found, "value", "_line") == [("\x002", 3)]


def test_lines_are_told_where_rows_are_long_and_parsed_in_several_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("airflow_dataflow_provider.spark.sources.csv_files._BLOCK", 2**18)
    long = "x" * 200_000
    text = f'key,value\n{long},1\n"{long}\n",2\n{long}\n{long},x\nb,y\nc,3,4\n' + "d,5\n" * 100_000 + "e\n"
    found = read_after(tmp_path, "key,value\na,1\n", text, ("value",))
    assert found.rows["value"].to_list() == [1, 2, *[5] * 100_000]
    assert rejected(found, "_line") == [(5,), (6,), (7,), (8,), (100_009,)]


def test_times_of_which_none_can_be_read_are_refused_before_anything_runs(tmp_path: Path) -> None:
    text = "at\n01.02.2013 12:00\n\n"
    with pytest.raises(SubmissionError, match=r"'01\.02\.2013 12:00'") as refusal:
        read_after(tmp_path, text, text, ("at",), event_time="at")
    assert refusal.value.code == "SOURCE_EVENT_TIME_TYPE"
    later = {"event_time": "at", "time_format": "%d.%m.%Y %H:%M", "time_zone": "Europe/Vienna"}
    found = read_after(tmp_path, text, "at\n01.02.2013 12:00\n2013-02-01T12:00:00Z\n", ("at",), **later)
    assert found.rows["at"].to_list() == [dt.datetime(2013, 2, 1, 11, tzinfo=dt.UTC)]
    assert rejected(found, "at", "_line", "_reason") == [("2013-02-01T12:00:00Z", 3, "at is not a time")]
    assert read_after(tmp_path, "at\n2013-02-01T12:00:00Z\nx\n", "at\n", ("at",), event_time="at").rows.is_empty()


CELLS = st.text(alphabet="ab\",;'\n\r \0", max_size=6)


@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6),
    st.sampled_from([Csv(), Csv(separator=";"), Csv(quote="'"), Csv(separator=" ", quote='"')]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_what_was_written_is_read_and_a_row_s_line_is_where_it_begins(
    rows: list[list[str]], form: Csv, end: str
) -> None:
    text, lines = "key,value" + end, []
    text = text.replace(",", form.separator)
    for row in rows:
        lines.append(len(io.StringIO(text, newline="").readlines()) + 1)
        quote = str(form.quote)
        text += form.separator.join(quote + cell.replace(quote, quote * 2) + quote for cell in row) + end
    parsed = csv_files._Parsed(text.encode(), form)
    assert parsed.rows.rows() == [tuple(row) for row in rows]
    assert parsed.lines_of_rows(pl.Series(range(len(rows)), dtype=pl.UInt32)).to_list() == lines


@given(st.text(alphabet='ab,"\n\r', max_size=30))
def test_every_row_is_taken_or_set_aside_and_begins_where_it_is_said_to(text: str) -> None:
    data = ("key,value\n" + text).encode()
    try:
        parsed = csv_files._Parsed(data, Csv())
    except ValueError as refusal:
        event(str(refusal))
        return
    starts = [*parsed.lines_of_rows(pl.Series(range(len(parsed.rows)), dtype=pl.UInt32)), *parsed.lines_of_ragged()]
    assert len({*starts}) == len(parsed.rows) + len(parsed.ragged)
    lines = io.StringIO(data.decode(), newline="").readlines()
    for row, line in zip(parsed.ragged, parsed.lines_of_ragged(), strict=True):
        assert "".join(lines[line - 1 :]).startswith(row.text)


FIELDS = st.one_of(
    st.sampled_from(
        ["7", "-7", "+7", "007", "0", "0.5", ".5", "5.", "1e3", "1e999", "nan", "NaN", "inf", "-inf", "1_0"]
    ),
    st.sampled_from(["true", "FALSE", "t", "", " 7", "7 ", "9007199254740993", "9223372036854775808", "0x1f"]),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(repr),
    st.text("0123456789.eE+- ", max_size=6),
)


def means(text: str, dtype: pl.DataType) -> Any:
    """What a field says, as Python reads it."""
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    return float(text) if dtype == pl.Float64 else {"true": True, "false": False}[text.lower()]


@given(st.lists(FIELDS, min_size=1, max_size=4), st.lists(FIELDS, min_size=1, max_size=6))
def test_no_field_is_changed_whatever_the_first_file_held(first: list[str], later: list[str]) -> None:
    dtype = conversion.inferred(pl.Series(first, dtype=pl.String))
    event(str(dtype))
    read_as = conversion.of_text("text", dtype, None, said=False)
    lost = read_as.lost(pl.col("value"))
    frame = pl.DataFrame({"text": later}).with_columns(read_as.value.alias("value"))
    frame = frame.with_columns(pl.lit(value=False).alias("lost") if lost is None else lost.alias("lost"))
    for text, value, rejected in frame.rows():
        if rejected:
            continue
        if dtype == pl.String:
            assert value == text
            continue
        expected = means(text, dtype)
        assert value == expected or (math.isnan(value) and math.isnan(expected))
        assert not text.lstrip("+-").startswith("0") or text.lstrip("+-")[1:2] in {"", ".", "e", "E"}
