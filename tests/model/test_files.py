"""Files: what a source says about its files is one thing, or it is refused where it is written."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_dataflow_provider import INGRESS_TIME, Csv, DefinitionError, Files
from airflow_dataflow_provider.model.file_formats import JsonLines, Parquet, compression_of


@pytest.mark.parametrize(
    ("path", "asked", "found"),
    [
        ("x/*.parquet", "", Parquet()),
        ("x/", "", Parquet()),
        ("x", "", Parquet()),
        ("x/*.csv", "", Csv()),
        ("x/*.CSV", "", Csv()),
        ("x/*.csv.gz", "", Csv()),
        ("s3://bucket/x/**/2013-*.csv.zst", "", Csv()),
        ("x/*.{csv,csv.gz}", "", Csv()),
        ("{x/a.jsonl,y/b.ndjson.gz}", "", JsonLines()),
        ("x/", "jsonl", JsonLines()),
        ("x/data.v1", "csv", Csv()),
        ("x/*.txt", "csv", Csv()),
        ("x/*.txt.gz", "csv", Csv()),
        ("x/*", "jsonl", JsonLines()),
        ("x/*.csv*", "csv", Csv()),
        ("x/*.json", "jsonl", JsonLines()),
        ("x/*.csv", Csv(separator=";"), Csv(separator=";")),
    ],
)
def test_the_format_is_what_the_path_or_format_says(path: str, asked: Any, found: Any) -> None:
    source = Files(path, event_time="at", format=asked)
    assert source.file_format == found
    assert eval(repr(source)) == source
    assert eval(repr(source.identity())) == source.identity() == source


@pytest.mark.parametrize(
    ("path", "asked", "says"),
    [
        ("x/*.csv", "parquet", "'.csv', and format= says 'parquet'"),
        ("x/*.csv.gz", "jsonl", "'.csv.gz', and format= says 'jsonl'"),
        ("x/*.parquet", Csv(), "format= says 'csv'"),
        ("x/*.{csv,jsonl}", "", "several formats"),
        ("x/{a.csv,b}", "", "several formats"),
        ("x/*.{csv,txt}", "", "'.txt', which says no format"),
        ("x/*", "", "says no format"),
        ("x/*.csv*", "", "says no format"),
        ("x/*.gz", "", "says no format"),
        ("x/*.json", "", "format='jsonl'"),
        ("x/*.tsv", "", r"Csv\(separator='\\t'\)"),
        ("x/*.parquet.gz", "", "not read"),
        ("x/*.zst", "parquet", "not read"),
        ("x/*.csv.bz2", "csv", "not read"),
        ("x/*.zip", "csv", "not read"),
        ("x", "csv.gz", r"'folder/\*\.csv\.gz'"),
        ("x", "avro", "not known"),
        ("x", Csv, "not known"),
        ("x", None, "not known"),
    ],
)
def test_a_format_that_is_not_said_or_contradicts_the_path_is_refused(path: str, asked: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says) as refusal:
        Files(path, event_time="at", format=asked)
    assert refusal.value.code == "DEFINITION_SOURCE"
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("file", "codec"), [("a.csv", ""), ("a.csv.gz", "gzip"), ("a.GZ", "gzip"), ("a.b/c.zst", "zstd"), ("gz", "gzip")]
)
def test_the_compression_is_what_a_name_ends_in(file: str, codec: str) -> None:
    assert compression_of(file) == codec


@pytest.mark.parametrize(
    "options",
    [
        {"separator": ""}, {"separator": ";;"}, {"separator": "§"}, {"separator": "\n"}, {"separator": None},
        {"quote": ""}, {"quote": "\r"}, {"separator": '"'}, {"separator": ";", "quote": ";"},
        {"null_values": 7}, {"null_values": ("",)}, {"null_values": ("a,b",)}, {"null_values": ('"-"',)},
        {"null_values": ("x\ny",)}, {"columns": ("a", "a")}, {"columns": ("a", "")}, {"columns": {"a": "b"}},
    ],
)  # fmt: skip
def test_csv_that_cannot_be_told_apart_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError) as refusal:
        Csv(**options)
    assert refusal.value.code == "DEFINITION_SOURCE"


def test_formats_are_values() -> None:
    csv = Csv(separator="\t", quote=None, null_values=["NA", "\\N"], columns="at")
    assert repr(csv) == "Csv(separator='\\t', quote=None, null_values=('NA', '\\\\N'), columns=('at',))"
    assert eval(repr(csv)) == csv
    assert hash(csv) == hash(eval(repr(csv)))
    assert (repr(Csv()), repr(Parquet()), repr(JsonLines())) == ("Csv()", "Parquet()", "JsonLines()")
    assert Csv(separator=";") != Csv()


def test_one_time_format_is_for_every_time_of_the_source() -> None:
    both = Files("x.csv", event_time="at", arrival_time="seen", time_format="epoch_milliseconds")
    assert both.time_formats() == {"at": "epoch_milliseconds", "seen": "epoch_milliseconds"}
    assert eval(repr(both)) == both
    assert both.identity() != Files("x.csv", event_time="at", arrival_time="seen").identity()
    said = {"due": "timestamp", "day": "date"}
    several = Files(
        "x.csv", event_time="at", schema=said, time_zone="Europe/Vienna",
        time_format={"due": "%d.%m.%Y %H:%M", "day": "%d.%m.%Y"},
    )  # fmt: skip
    assert eval(repr(several)) == several
    assert Files("x.csv", event_time="at", schema=said, time_format={"day": "%d.%m.%Y"})


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("seconds", "not known"),
        ("epoch", "not known"),
        ("ISO", "not known"),
        (7, "neither"),
        ({"at": 7}, "not known"),
        ({"other": "epoch_seconds"}, "no time"),
        ({"key": "epoch_seconds"}, "no time"),
        ({"day": "epoch_seconds"}, "for a date"),
        ("%d.%m.%y %H:%M", "either century"),
        ("%Y-%m-%d %H:%M %Z", "ambiguous"),
        ("%s", "epoch_seconds"),
        ("%x", "%x"),
        ("%H:%M", "which day"),
        ("%Y-%m", "which day"),
        ("%Y-%m-%d %I:%M", "%p"),
        ("%Y-%m-%d %H:%M %p", "%p"),
        ("%Y-%m-%d %H:%M:%S %f", "%f"),
        ("%Y-%m-%d %d", "twice"),
        ("%Y-%m-%d%", "%"),
        ("%d.%m.%Y %H:%M", "time_zone="),
    ],
)
def test_a_time_format_that_does_not_say_which_instant_is_refused(asked: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says) as refusal:
        Files("x.csv", event_time="at", schema={"key": "string", "day": "date"}, time_format=asked)
    assert refusal.value.code == "DEFINITION_SOURCE"


def test_a_time_format_for_no_column_is_refused() -> None:
    with pytest.raises(DefinitionError, match="no column"):
        Files("x.csv", event_time=INGRESS_TIME, time_format="epoch_seconds")


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x.jsonl", "binary"), ("x.jsonl", "list<binary>"), ("x.jsonl", "list<timestamp>"),
        ("x.jsonl", "struct<a:int64,b:decimal(4,2)>"), ("x.csv", "list<int64>"), ("x.csv", "struct<a:int64>"),
    ],
)  # fmt: skip
def test_a_type_that_the_format_does_not_have_is_refused(path: str, said: str) -> None:
    with pytest.raises(DefinitionError, match="do not have") as refusal:
        Files(path, event_time="at", schema={"value": said})
    assert refusal.value.reason


@pytest.mark.parametrize(
    ("said", "normal"),
    [
        ("list< Int64 >", "list<int64>"),
        ("struct<Id : int64, tags: list<string>>", "struct<Id:int64,tags:list<string>>"),
        ("list<struct<a:decimal(4, 2),b:struct<c:date>>>", "list<struct<a:decimal(4,2),b:struct<c:date>>>"),
        ("list<>", None), ("struct<>", None), ("struct<a>", None), ("struct<:int64>", None), ("list<int64", None),
        ("struct<a:int64,a:string>", None), ("struct<a:int64,>", None), ("list<text>", None),
        ("struct<a:b:int64>", None),
        ("list<int64>>", None), ("list", None), ("struct<a:int64,b:decimal(4,2>)", None),
    ],
)  # fmt: skip
def test_lists_and_structs_have_types_of_their_own(said: str, normal: str | None) -> None:
    if normal is not None:
        source = Files("x", event_time="at", schema={"value": said})
        assert source.said() == {"value": normal}
        assert eval(repr(source)) == source
        return
    with pytest.raises(DefinitionError, match="names no type"):
        Files("x", event_time="at", schema={"value": said})
