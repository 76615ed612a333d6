from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from airflow_dataflow_provider.cli.pictures.skew_picture import draw
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.time import MIN_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.status.skew import Skew, SkewPoint, read_skew
from airflow_dataflow_provider.progress.store.store import Store
from tests.cli.conftest import Run
from tests.progress.samples import NOON, SECOND, interval_record, make_identity, record

SVG = "{http://www.w3.org/2000/svg}"
HOUR = 3600 * SECOND
DELAYS = {50.0: 0, 90.0: HOUR // 6, 97.0: HOUR // 3, 99.0: HOUR // 2, 100.0: 2 * HOUR}


def curve(at: int, delays: dict[float, int] = DELAYS) -> WatermarkCurve:
    return WatermarkCurve(tuple((percentile, at - delay) for percentile, delay in delays.items()))


def skew(
    epochs: int = 24, step: int = HOUR, delays: dict[float, int] = DELAYS, *, by_source_clock: bool = True
) -> Skew:
    times = [NOON + epoch * step for epoch in range(epochs)]
    return Skew("departures", by_source_clock, tuple(SkewPoint(at, curve(at, delays)) for at in times), epochs, 1234567)


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(picture).iter(f"{SVG}text")]


def lines(picture: str) -> list[list[tuple[float, float]]]:
    """The corners of the watermarks, from the lowest percentile to 100."""
    (plot,) = ET.fromstring(picture).iterfind(f"{SVG}g")
    return [corners(line) for line in plot.iterfind(f"{SVG}polyline") if "stroke-dasharray" not in line.attrib]


def ideal(picture: str) -> list[tuple[float, float]]:
    return next(
        corners(line) for line in ET.fromstring(picture).iter(f"{SVG}polyline") if "stroke-dasharray" in line.attrib
    )


def corners(line: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in (corner.split(",") for corner in line.attrib["points"].split())]


@pytest.fixture
def log(state: str) -> EpochLog:
    store = Store.open(state)
    make_identity(store)
    return EpochLog(store)


def commit(log: EpochLog, epochs: int, *, frontier: bool = True) -> None:
    for epoch in range(epochs):
        at = NOON + epoch * HOUR
        told = curve(at)
        clock = Clock(at + 1000 * HOUR if frontier else at, told)
        log.commit(record(epoch, published=told, clock=clock, frontier=at if frontier else None))


# From the epoch log


def test_a_picture_is_written_from_the_epoch_log(command: Run, log: EpochLog, state: str, tmp_path: Path) -> None:
    commit(log, 24)
    out = tmp_path / "a" / "new" / "folder" / "skew.svg"
    said = command("plot", "--state", state, "--out", out)
    assert (said.status, said.out, said.err) == (0, f"{out}: 24 epochs, 240 rows\n", "")
    assert out.read_text(encoding="utf-8") == draw(read_skew(state))


def test_the_clock_of_a_source_is_preferred_to_the_driver_s(log: EpochLog, state: str) -> None:
    commit(log, 3)
    read = read_skew(state)
    assert read.by_source_clock
    assert [point.at for point in read.points] == [NOON, NOON + HOUR, NOON + 2 * HOUR]


def test_without_a_clock_of_the_source_the_driver_s_counts(log: EpochLog, state: str) -> None:
    commit(log, 3, frontier=False)
    read = read_skew(state)
    assert not read.by_source_clock
    assert [point.at for point in read.points] == [NOON, NOON + HOUR, NOON + 2 * HOUR]


def test_epochs_that_tell_nothing_and_intervals_are_no_points(log: EpochLog, state: str) -> None:
    log.commit(record(0, published=NOTHING_KNOWN, frontier=NOON))
    log.commit(record(1, published=curve(NOON), frontier=NOON))
    log.commit(interval_record(2, NOON, NOON + HOUR, published=curve(NOON), frontier=NOON + 9))
    log.commit(record(3, published=curve(NOON + HOUR), frontier=NOON + HOUR))
    read = read_skew(state)
    assert [point.at for point in read.points] == [NOON, NOON + HOUR]
    assert (read.epochs, read.rows) == (4, 40)


def test_a_watermark_that_is_still_infinite_has_no_place_on_its_line(log: EpochLog, state: str) -> None:
    half = WatermarkCurve(((50.0, NOON), (100.0, MIN_TIME)))
    log.commit(record(0, published=half, frontier=NOON))
    log.commit(record(1, published=half, frontier=NOON + HOUR))
    read = read_skew(state)
    assert read.line(50) == [(NOON, NOON), (NOON, NOON + HOUR)]
    assert read.line(100) == []
    assert "W 100 %" not in texts(draw(read))


@pytest.mark.parametrize("epochs", [0, 1])
def test_with_fewer_than_two_epochs_there_is_nothing_to_draw(
    command: Run, log: EpochLog, state: str, tmp_path: Path, epochs: int
) -> None:
    commit(log, epochs)
    said = command("plot", "--state", state, "--out", tmp_path / "skew.svg")
    assert (said.status, said.code) == (3, "STATE_TOO_FEW_EPOCHS")
    assert f"of {epochs} epochs" in said.err
    assert not (tmp_path / "skew.svg").exists()


def test_two_epochs_of_one_moment_are_no_line(command: Run, log: EpochLog, state: str, tmp_path: Path) -> None:
    log.commit(record(0, published=curve(NOON), frontier=NOON))
    log.commit(record(1, published=curve(NOON), frontier=NOON, kind="end_of_input", end_of_input=True))
    said = command("plot", "--state", state, "--out", tmp_path / "skew.svg")
    assert (said.status, said.code) == (3, "STATE_TOO_FEW_EPOCHS")


def test_no_state_is_an_error_of_the_state(command: Run, state: str, tmp_path: Path) -> None:
    said = command("plot", "--state", state, "--out", tmp_path / "skew.svg")
    assert (said.status, said.code) == (3, "STATE_ABSENT")


def test_a_place_that_cannot_be_written_is_refused(command: Run, log: EpochLog, state: str, tmp_path: Path) -> None:
    commit(log, 2)
    said = command("plot", "--state", state, "--out", tmp_path)
    assert (said.status, said.code) == (2, "SUBMIT_OUTPUT")


# The picture


def test_it_is_one_svg_of_its_own_size_and_background() -> None:
    root = ET.fromstring(draw(skew()))
    assert (root.tag, root.attrib["viewBox"]) == (f"{SVG}svg", "0 0 900 600")
    background = root.find(f"{SVG}rect")
    assert background is not None
    assert background.attrib["fill"] == "#ffffff"


def test_the_axes_say_what_they_are_and_whose_clock_it_is() -> None:
    told = texts(draw(skew()))
    assert "event time (UTC)" in told
    assert "processing time by the source's clock: newest arrival read (UTC)" in told
    assert "processing time by the driver's clock (UTC)" in texts(draw(skew(by_source_clock=False)))


def test_epochs_rows_and_the_distance_at_the_end_are_told() -> None:
    assert "24 epochs · 1,234,567 rows · behind at the end: W 97 % 20m, W 100 % 2h" in texts(draw(skew()))


def test_a_title_is_text_whatever_is_in_it() -> None:
    assert "<b>&\"'" in texts(draw(skew(), "<b>&\"'"))
    assert "departures: how far its watermarks are behind" in texts(draw(skew()))


def test_every_line_has_its_label_and_the_ideal_one_is_dashed() -> None:
    picture = draw(skew())
    assert [text for text in texts(picture) if "%" in text and "·" not in text] == [
        "W 100 %", "99 %", "97 %", "90 %", "50 %",
    ]  # fmt: skip
    assert "ideal" in texts(picture)
    assert len(lines(picture)) == len(DELAYS)
    assert picture.count("stroke-dasharray") == 1


def test_of_the_usual_percentiles_a_few_are_drawn_and_all_that_a_trigger_asks_for() -> None:
    usual = (50.0, 75.0, 90.0, 95.0, 97.0, 98.0, 98.5, 99.0, 99.5, 99.9, 100.0)
    picture = draw(skew(delays=dict(zip(usual, range(len(usual)), strict=True))))
    assert {text.rstrip(" %") for text in texts(picture) if re.fullmatch(r"[\d.]+ %", text)} == {
        "50", "90", "97", "98.5", "99", "99.9",
    }  # fmt: skip


def test_a_watermark_goes_up_until_it_is_told_anew_and_then_to_the_right() -> None:
    for line in lines(draw(skew())):
        assert len(line) > 24
        for (x, y), (next_x, next_y) in pairwise(line):
            assert (x == next_x and y > next_y) or (x < next_x and y == next_y)


def test_the_distance_on_the_picture_is_the_distance_in_time() -> None:
    picture = draw(skew(epochs=25))
    (start, _), (end, top) = ideal(picture)
    hour = (end - start) / 24
    ends = [line[-1][0] for line in lines(picture)]
    assert ends == pytest.approx([end - delay / HOUR * hour for delay in DELAYS.values()], abs=0.11)
    assert {line[-1][1] for line in lines(picture)} == {top}


def test_the_widest_skew_is_named() -> None:
    # Just before each epoch the watermark is an hour older than when it was told.
    assert "skew 3h" in texts(draw(skew()))


def test_a_straggler_that_lies_far_outside_is_marked_and_squeezes_nothing() -> None:
    far = draw(skew(delays={**DELAYS, 100.0: 1000 * HOUR}))
    assert "< W 100 %" in texts(far)
    median, *_ = lines(far)
    assert median[-1][0] - median[0][0] > 250


PICTURES = {
    "few": skew(epochs=2),
    "long": skew(epochs=365, step=24 * HOUR),
    "short": skew(epochs=40, step=SECOND // 20, delays={50.0: 0, 97.0: SECOND // 3, 99.9: SECOND, 100.0: SECOND}),
    "all one": skew(delays=dict.fromkeys(DELAYS, 0)),
    "ahead": skew(delays={50.0: -HOUR, 90.0: 0, 100.0: HOUR}),
    "straggler": skew(delays={**DELAYS, 100.0: 1000 * HOUR}),
    "many": skew(delays={float(share): share * HOUR // 500 for share in range(88, 101)}),
}


LONG_TITLE = (
    "departures from the three airports of New York, by carrier, as they were replayed on Monday, W 97 % and all"
)


@pytest.mark.parametrize("name", PICTURES)
def test_no_two_labels_lie_on_each_other_and_none_leaves_the_page(name: str) -> None:
    boxes = []
    for element in ET.fromstring(draw(PICTURES[name], LONG_TITLE)).iter(f"{SVG}text"):
        if "transform" in element.attrib:
            continue
        size, text = float(element.attrib["font-size"]), element.text or ""
        # Bold DejaVu Sans, among the widest of the fonts that viewers choose, is this wide on average.
        width = len(text) * size * (0.62 if "font-weight" in element.attrib else 0.56)
        start = {"start": 0, "middle": width / 2, "end": width}[element.attrib["text-anchor"]]
        left, base = float(element.attrib["x"]) - start, float(element.attrib["y"])
        boxes.append((left, base - 0.75 * size, left + width, base + 0.2 * size, text))
        assert left >= 24, text
        assert left + width <= 900, text
    for index, (left, top, right, bottom, text) in enumerate(boxes):
        for other_left, other_top, other_right, other_bottom, other in boxes[index + 1 :]:
            apart = right <= other_left or other_right <= left or bottom <= other_top or other_bottom <= top
            assert apart, f"{text!r} and {other!r}"


@pytest.mark.parametrize("name", PICTURES)
def test_every_number_is_finite(name: str) -> None:
    picture = draw(PICTURES[name])
    assert not re.search(r"\b(nan|inf)\b", picture)
    assert lines(picture)
