"""Times that an element can have: the years 1000 to 8999. Rows with others are rejected, and no window leaves int64."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_dataflow_provider import (
    ACCUMULATING,
    INGRESS_TIME,
    AtWatermark,
    CalendarWindows,
    Count,
    DataError,
    DefinitionError,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    SessionWindows,
    SlidingWindows,
    Vectorised,
)
from airflow_dataflow_provider.model.elements import Element
from airflow_dataflow_provider.model.time import CALENDAR, ELEMENT_TIMES, LONGEST, to_micros
from airflow_dataflow_provider.model.windows import WindowStrategy
from airflow_dataflow_provider.reference.par_do import apply as apply_in_reference
from airflow_dataflow_provider.spark.kernel.columns import ARRIVAL, EVENT
from airflow_dataflow_provider.spark.kernel.windows import assign_windows
from airflow_dataflow_provider.spark.par_do.par_do import apply
from airflow_dataflow_provider.spark.sources.first_file import check_columns
from airflow_dataflow_provider.spark.sources.reading import column_types, read
from airflow_dataflow_provider.testing.stream import TestStream

NOW = to_micros("2026-01-01T00:00:00Z")
FIRST, LAST = ELEMENT_TIMES[0], ELEMENT_TIMES[1] - 1
FAR = [2**63 - 1, -(2**63), 2**62, -(2**62), LAST + 1, FIRST - 1, CALENDAR[1], CALENDAR[0]]
OUTSIDE = "is not in the years 1000 to 8999"


def written(folder: Path, at: pl.Series, **columns: Any) -> str:
    file = str(folder / "rows.parquet")
    frame = pl.DataFrame({"at": at, **columns})
    frame.write_parquet(file, row_group_size=1)
    return file


@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_a_time_out_of_range_is_rejected_with_its_file(tmp_path: Path, unit: Any, zone: str | None) -> None:
    per = 1000 if unit == "ms" else 1
    # A zone moves the ends by some hours.
    near = 0 if zone else 86_400_000_000
    numbers = [2**63 - 1, -(2**63), 2**62, LAST // per + 1 + near, FIRST // per - 1 - near, FIRST // per + near, None]
    file = written(tmp_path, pl.Series(numbers, dtype=pl.Int64).cast(pl.Datetime(unit, zone)))
    source = Files(file, event_time="at", time_zone="Europe/Vienna")
    schema = check_columns(source, ("at",), column_types(source, file), file)
    for between in (None, (NOW, NOW + 1)):
        found = read(source, schema, file, NOW, between)
        assert len(found.rows) == (between is None or zone is None)  # of those without a zone nothing is left out
        assert found.rejected["_reason"].to_list() == [f"at {OUTSIDE}"] * 5 + ["at is null"]
        assert set(found.rejected["_file"]) == {file}
        # They are set aside as they are, in the file's own type.
        assert found.rejected["at"].to_physical().to_list() == [*numbers[:5], None]


@pytest.mark.parametrize(
    "text", ["0999-12-31T23:59:59Z", "9000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z"]
)
def test_text_out_of_range_is_rejected(tmp_path: Path, text: str) -> None:
    file = tmp_path / "rows.csv"
    file.write_text(f"at\n{text}\n8999-12-31T23:59:59.999999Z\n1000-01-01T00:00:00Z\n")
    found = read(Files(str(file), event_time="at"), {"at": pl.String()}, str(file), NOW)
    assert found.rows[EVENT].to_list() == [LAST, FIRST]
    assert found.rejected["_reason"].to_list() == [f"at {OUTSIDE}"]


def test_an_arrival_out_of_range_is_rejected(tmp_path: Path) -> None:
    at = pl.Series([NOW] * 3).cast(pl.Datetime("us", "UTC"))
    seen = pl.Series([2**62, FIRST - 1, NOW]).cast(pl.Datetime("us", "UTC"))
    file = written(tmp_path, at, seen=seen)
    for event_time in ("at", INGRESS_TIME):
        source = Files(file, event_time=event_time, arrival_time="seen")
        schema = check_columns(source, source.columns(), column_types(source, file), file)
        found = read(source, schema, file, NOW)
        assert found.rows[ARRIVAL].to_list() == [NOW]
        assert found.rejected["_reason"].to_list() == [f"seen {OUTSIDE}"] * 2


def test_nanoseconds_are_cut_to_the_microsecond_before(tmp_path: Path) -> None:
    file = written(tmp_path, pl.Series([-1, 1, 1999, 2**63 - 1, -(2**63)]).cast(pl.Datetime("ns", "UTC")))
    source = Files(file, event_time="at")
    schema = check_columns(source, ("at",), column_types(source, file), file)
    found = read(source, schema, file, NOW)
    assert found.rows[EVENT].to_list() == [-1, 0, 1, (2**63 - 1) // 1000, -(2**63) // 1000]
    within = read(source, schema, file, NOW, (0, 1))
    assert 0 in within.rows[EVENT]


def test_row_groups_out_of_an_interval_are_not_read(tmp_path: Path) -> None:
    times = [NOW - 1, NOW, NOW + 1, 2**62]
    file = written(tmp_path, pl.Series(times).cast(pl.Datetime("us", "UTC")))
    source = Files(file, event_time="at")
    found = read(source, {"at": pl.Datetime("us", "UTC")}, file, NOW, (NOW, NOW + 1))
    assert found.rows[EVENT].to_list() == [NOW]
    assert len(found.rejected) == 1


# The specification and the test stream


def counting(**options: Any) -> Pipeline:
    files = Files("x.parquet", event_time="at", **options)
    grouped = Pipeline("far", files).group_by_key_and_window(
        key="k",
        window=FixedWindows("1h"),
        trigger=Repeat(AtWatermark()),
        refinement=ACCUMULATING,
        allowed_lateness="0s",
    )
    return grouped.combine(n=Count())


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9000-01-01T00:00:00Z", "+inf", "-inf"])
def test_a_stream_of_a_test_takes_no_time_out_of_range(at: str) -> None:
    with pytest.raises(DefinitionError) as refusal:
        TestStream(counting()).add(("a", None, at))
    assert refusal.value.code == "TIME_OUT_OF_RANGE"


def test_a_window_at_the_end_of_the_range_is_published() -> None:
    for at in ("8999-12-31T23:59:59.999999Z", "1000-01-01T00:00:00Z"):
        [pane] = TestStream(counting()).add(("a", None, at)).end_of_input().run()
        assert pane.values == {"n": 1}


def far_away(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(_event=pl.col("_event") * 1000)


def untouched(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(_event=pl.col("_event"))


def test_a_step_that_makes_a_time_out_of_range_fails() -> None:
    frame = pl.DataFrame({"k": ["a", "b"], EVENT: [0, NOW], ARRIVAL: [NOW, NOW]})
    elements = [Element({"k": row[0]}, row[1], row[2]) for row in frame.rows()]
    with pytest.raises(DataError, match="1767225600000000000, which is not in the years 1000 to 8999") as refusal:
        apply([Vectorised(far_away)], frame)
    assert refusal.value.code == "DATA_PAR_DO"
    with pytest.raises(DataError, match="1767225600000000000, which is not in the years 1000 to 8999") as refusal:
        apply_in_reference([Vectorised(far_away)], elements, None)
    assert refusal.value.code == "DATA_PAR_DO"


def test_a_step_may_pass_on_a_result_s_time_though_it_is_out_of_range() -> None:
    frame = pl.DataFrame({"k": ["a"], EVENT: [LAST + LONGEST], ARRIVAL: [NOW]})
    assert apply([Vectorised(untouched)], frame)[EVENT].to_list() == [LAST + LONGEST]


LENGTHS = st.one_of(st.sampled_from([1, 1_000_000, 86_400_000_000, LONGEST]), st.integers(1, LONGEST))
TIMES = st.one_of(st.sampled_from([FIRST, LAST, FIRST + 1, LAST - 1, -1, 0]), st.integers(FIRST, LAST))


@st.composite
def windows(draw: st.DrawFn) -> WindowStrategy:
    length, offset = draw(LENGTHS), draw(st.integers(-LONGEST, LONGEST))
    zones = st.sampled_from(["UTC", "Europe/Vienna", "Pacific/Apia", "Pacific/Kiritimati", "America/New_York"])
    return draw(
        st.sampled_from(
            [
                FixedWindows(f"{length}us", f"{offset}us"),
                FixedWindows(f"{length}us", shifted_by_key=True),
                SlidingWindows(f"{length}us", f"{max(1, length // draw(st.integers(1, 4)))}us", f"{offset}us"),
                SessionWindows(f"{length}us"),
                CalendarWindows(draw(st.sampled_from(["day", "week", "month", "year"])), draw(zones)),
            ]
        )
    )


@given(windows(), st.lists(TIMES, min_size=1, max_size=4))
def test_windows_of_all_times_are_in_the_calendar_and_the_reference_s(window: WindowStrategy, times: list[int]) -> None:
    rows = pl.DataFrame({"k": ["a"] * len(times), EVENT: times})
    found = assign_windows(window, rows, ("k",)).select(EVENT, "_start", "_end").rows()
    expected = [(time, each.start, each.end) for time in times for each in window.assign(time, ("a",))]
    assert sorted(found) == sorted(expected)
    for _, start, end in found:
        assert CALENDAR[0] <= start < end <= CALENDAR[1]
        assert end + LONGEST <= CALENDAR[1]  # a lateness, and the windows of what follows


def test_a_day_at_the_end_of_the_range_can_be_shown() -> None:
    for time in (FIRST, LAST):
        [window] = CalendarWindows("year", "Pacific/Kiritimati").assign(time)
        assert "inf" not in str(window)
        assert dt.datetime.fromisoformat(str(window)[1:21])
