"""A state that an older release of the package wrote: a run goes on with it, and the documents keep their keys.

``state_before.zip`` has six epochs over two groupings: two of data, one of the clock, one of an interval, then those of
a batch: one of data, with an expired and a rejected row, and the end of input. Its source were the first 300 of
``events(400, keys=3)``.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from airflow_dataflow_provider import (
    ACCUMULATING_AND_RETRACTING,
    AtWatermark,
    Count,
    Files,
    FixedWindows,
    Max,
    Pipeline,
    Repeat,
    RuntimeMode,
    SequenceOf,
    Sum,
)
from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.status.status import Status, read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.upkeep.verification import verify
from airflow_dataflow_provider.spark.running.checkpoint import Checkpoint
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from tests.spark.events import events, write_files

STATE = Path(__file__).with_name("state_before.zip")
LAST = 5
"""The epoch of the end of input."""


def pipeline() -> Pipeline:
    """The best minute of every ten, by key."""
    source = Files("rows/*.parquet", event_time="happened", arrival_time="arrived", max_files_per_epoch=1)
    return (
        Pipeline("minutes", source)
        .group_by_key_and_window(
            key="key",
            window=FixedWindows("1m"),
            trigger=SequenceOf(AtWatermark(90), Repeat(AtWatermark())),
            refinement=ACCUMULATING_AND_RETRACTING,
            allowed_lateness="10m",
        )
        .combine(total=Sum("value"))
        .group_by_key_and_window(
            key="key",
            window=FixedWindows("10m"),
            trigger=Repeat(AtWatermark()),
            refinement=ACCUMULATING_AND_RETRACTING,
            allowed_lateness="1h",
        )
        .combine(minutes=Count(), most=Max("total"))
    )


def go(state: str, mode: RuntimeMode = RuntimeMode.BATCH) -> Status:
    run(Submission(pipeline(), mode, state, conf={"dataflow.state.partitions": "2"}, workers=ThisProcess()))
    return read_status(state)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_sync: None) -> Path:
    """The state, with a new file in its source."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(STATE) as archive:
        archive.extractall("state")
    write_files(Path("rows"), events(400, keys=3)[300:], files=1, first=3)
    return Path("state")


def document(state: Path, kind: str, epoch: int = LAST) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((state / f"epochs/000000000/{epoch:012d}.{kind}.json").read_text())
    return found


def part_of(document: Any, *, like: Any) -> Any:
    """The part of a document whose keys another document has, too."""
    if isinstance(like, dict) and isinstance(document, dict):
        return {key: part_of(document[key], like=value) for key, value in like.items()}
    return document


def keys(value: object, path: str = "") -> set[str]:
    """The paths of all keys of a document; those that are data, such as partitions and percentiles, are ``*``."""
    found = set[str]()
    if isinstance(value, list):
        found = found.union(*(keys(each, path) for each in value))
    elif isinstance(value, dict):
        for key, each in value.items():
            name = f"{path}.{'*' if key[0].isdigit() else key}"
            found |= {name} | keys(each, name)
    return found


@pytest.mark.parametrize("open_since", ["commit", "panes"])
def test_a_run_goes_on_with_it(state: Path, open_since: str) -> None:
    (state / f"epochs/000000000/{LAST:012d}.commit.json").unlink()
    if open_since == "panes":
        (state / f"panes/commits/000000000/{LAST:012d}.json").unlink()
    assert go(str(state)).rows.read == 603
    write_files(Path("rows"), events(400, keys=3), files=1, first=3)
    go("anew")
    continued, anew = (PaneLogReader(url).current() for url in (str(state), "anew"))
    columns = ["key", "window_start", "window_end", "minutes", "most"]
    assert continued.select(columns).equals(anew.select(columns))


def test_it_is_read_as_it_was(state: Path) -> None:
    status = read_status(str(state))
    assert (status.epoch, status.rows.read, status.rows.expired, status.rows.rejected) == (LAST, 503, 1, 1)
    assert not verify(Store.open(str(state))).findings
    side = SideOutputs(str(state))
    assert (len(side.expired()), len(side.rejected())) == (1, 1)
    assert [epoch for epoch, _ in PaneLogReader(str(state)).intervals()] == [3]


def test_its_commit_is_made_again_as_it_was(state: Path) -> None:
    written = document(state, "commit")
    (state / f"epochs/000000000/{LAST:012d}.commit.json").unlink()
    go(str(state))
    again = document(state, "commit")
    for each in (written, again):
        for name in ("token", "finished_at", "backlog"):
            del each[name]
    assert part_of(again, like=written) == written


def test_the_documents_of_today_have_all_keys_of_those_before(state: Path) -> None:
    rows = events(400, keys=3)
    bad = pl.DataFrame(
        {"key": ["key 0"], "happened": [None], "arrived": [rows["arrived"][10]], "value": [1]}, schema=rows.schema
    )
    late = rows[5:6].with_columns(arrived=pl.lit(rows["arrived"][299]))
    old = pl.concat([rows[:300], bad, late])
    write_files(Path("rows"), old[:200], files=2)
    (Path("rows") / "part-0003.parquet").unlink()
    go("anew", RuntimeMode.MICRO_BATCH)
    write_files(Path("rows"), old[200:], files=1, first=2)
    go("anew")
    for epoch, before in ((0, 0), (1, 1), (2, 2), (3, 4), (4, 5)):
        for kind in ("plan", "prepared", "commit"):
            missing = keys(document(state, kind, before)) - keys(document(Path("anew"), kind, epoch))
            assert not missing, (kind, before)


def test_an_abandoned_epoch_gives_a_batch_no_windows_that_are_still_open(state: Path) -> None:
    log = EpochLog(Store.open(str(state)))
    last = log.last_record()
    assert last is not None
    stages = Checkpoint.from_json(last.checkpoint).stages
    hour = pipeline().grouping.allowed_lateness
    open_from, watermark = stages[-1].expired_until - hour, last.published.at(100) - hour
    assert open_from < watermark, "the first grouping holds the second one back"
    log.commit(replace(last, epoch=LAST + 1, kind="abandoned", checkpoint={}, end_of_input=False))
    interval = Interval(open_from - hour, open_from + 1)
    with pytest.raises(StateError) as refused:
        run(Submission(pipeline(), RuntimeMode.BATCH, str(state), interval, workers=ThisProcess()))
    assert refused.value.code == "STATE_WINDOWS_OPEN"
