"""A compacted pane log says what it said before, wherever compactions come and wherever one is cut off."""

from __future__ import annotations

import contextlib
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from airflow_dataflow_provider import ACCUMULATING, ACCUMULATING_AND_RETRACTING, DISCARDING, Count, PaneLog, StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.refinement import Refinement
from airflow_dataflow_provider.progress.panes.pane_chain import PaneChain
from airflow_dataflow_provider.progress.panes.pane_commits import DATA
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.sinks.pane_compaction import COMMITS
from airflow_dataflow_provider.spark.sinks.pane_files import PaneFiles
from airflow_dataflow_provider.spark.values.kept_values import dump
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.pane_logs import (
    MINUTE,
    Expected,
    Said,
    compaction,
    frame_of,
    open_log,
    pipeline,
    publish,
    publish_frames,
    rows_of,
)
from tests.spark.test_trust import Product


class CutOffError(Exception):
    """The process dies."""


@dataclass(frozen=True, slots=True)
class Dying(Store):
    """A store that takes so many changes."""

    inner: Store
    left: list[int]

    @classmethod
    def after(cls, changes: int, inner: Store) -> Dying:
        return cls(inner.url, inner, [changes])

    def _change(self) -> None:
        if not self.left[0]:
            raise CutOffError
        self.left[0] -= 1

    def read(self, path: str) -> bytes:
        return self.inner.read(path)

    def write(self, path: str, data: bytes) -> None:
        self._change()
        self.inner.write(path, data)

    def create(self, path: str, data: bytes) -> None:
        self._change()
        self.inner.create(path, data)

    def list(self, folder: str) -> list[str]:
        return self.inner.list(folder)

    def exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def delete(self, path: str, recursive: bool = False) -> None:
        self._change()
        self.inner.delete(path, recursive)


PANES = st.lists(
    st.builds(
        Said,
        key=st.sampled_from("ab"),
        window=st.sampled_from([0, 1, 2, None]),
        total=st.integers(-5, 5),
        is_first=st.booleans(),
        is_retraction=st.booleans(),
    ),
    max_size=4,
)
BORDERS = st.tuples(st.integers(0, 2), st.integers(1, 3)).map(
    lambda pair: Interval(pair[0] * MINUTE, (pair[0] + pair[1]) * MINUTE)
)
EPOCH = st.tuples(st.just("epoch"), PANES, st.none() | BORDERS)
COMPACT = st.tuples(st.just("compact"), st.integers(1, 3), st.integers(0, 12) | st.just(1_000))
SCRIPTS = st.lists(EPOCH | EPOCH | COMPACT, min_size=3, max_size=14)


def possible(panes: list[Said], *, discarding: bool) -> list[Said]:
    """A window begins once in an epoch at most, and discarding panes take nothing back."""
    begun: set[tuple[str, int | None]] = set()
    made = []
    for pane in panes:
        at = (pane.key, pane.window)
        is_retraction = pane.is_retraction and not discarding
        made.append(
            replace(pane, is_first=pane.is_first and not is_retraction and at not in begun, is_retraction=is_retraction)
        )
        begun.add(at)
    return made


@pytest.mark.parametrize("refinement", [DISCARDING, ACCUMULATING, ACCUMULATING_AND_RETRACTING], ids=repr)
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
@given(script=SCRIPTS)
def test_a_compacted_log_says_what_the_whole_one_says(refinement: Refinement, script: list[tuple]) -> None:
    what, name = pipeline(refinement=refinement), uuid.uuid4().hex
    logs = [f"memory://{name}/{part}" for part in ("whole", "compacted")]
    whole, compacted = (open_log(url, what) for url in logs)
    expected, epoch = Expected(discarding=refinement is DISCARDING), 0
    for step, given_, more in script:
        if step == "epoch":
            panes = possible(given_, discarding=refinement is DISCARDING)
            interval: Interval | None = more
            publish(*whole, epoch, panes, interval)
            publish(*compacted, epoch, panes, interval)
            expected.take(panes, interval)
            epoch += 2  # epochs without panes are in no pane log
        else:
            dying = Dying.after(more, Store.open(f"{logs[1]}/panes"))
            with contextlib.suppress(CutOffError):
                # Files of a few thousand bytes are large here, so that some stay as they are.
                compaction(dying, commits=given_, largest_file=20_000).run(epoch, 0)
            assert rows_of(PaneLogReader(logs[1]).current()) == expected.rows()
    readers = [PaneLogReader(url) for url in logs]
    assert_frame_equal(readers[1].panes(), readers[0].panes())
    assert_frame_equal(readers[1].panes(since=3), readers[0].panes(since=3))
    assert_frame_equal(readers[1].current(), readers[0].current())
    assert readers[1].intervals() == readers[0].intervals()
    assert rows_of(readers[1].current()) == expected.rows()


def test_every_cut_of_a_compaction_leaves_the_log_whole_and_the_next_one_tidies_up() -> None:
    what, cuts, name = pipeline(), 0, uuid.uuid4().hex
    while True:
        state = f"memory://{name}/{cuts}"
        log = open_log(state, what)
        for epoch in range(12):
            publish(*log, epoch, [Said("a", 0, epoch), Said("b", epoch, 1)])
            if epoch in (3, 7):
                compaction(Store.open(f"{state}/panes"), commits=1).run(epoch + 1, 0)
        dying = Dying.after(cuts, Store.open(f"{state}/panes"))
        finished = False
        try:
            compaction(dying, commits=1).run(12, 0)
            finished = True
        except CutOffError:
            cuts += 1
        assert len(PaneLogReader(state).panes()) == 24
        for epoch in range(12, 14):
            publish(*log, epoch, [Said("a", 0, epoch)])
            compaction(Store.open(f"{state}/panes"), commits=1).run(epoch + 1, 0)
        assert rows_of(PaneLogReader(state).current())[0] == ("a", 0, 14, sum(range(14)))
        if finished:
            break
    assert cuts > 6
    snapshot = PaneChain(Store.open(f"{state}/panes")).snapshot()
    assert snapshot is not None
    assert len(Store.open(f"{state}/panes/data").list("")) <= len(snapshot.files) + 4


def test_files_that_no_document_names_are_swept_once_their_epoch_is_long_committed(tmp_path: Path) -> None:
    log = open_log(tmp_path, pipeline())
    data = tmp_path / "panes" / DATA
    for epoch in range(9):
        publish(*log, epoch, [Said("a", 0, 1)])
        for name in (f"{epoch:012d}-0003-dead.parquet", "not ours.txt"):
            (data / name).write_bytes(b"left behind")
        if epoch % 3 == 2:
            compaction(Store.open(tmp_path / "panes"), commits=1).run(epoch + 1, 0)
    left = {name.name for name in data.iterdir() if name.read_bytes() == b"left behind"}
    assert left == {*(f"{epoch:012d}-0003-dead.parquet" for epoch in (6, 7, 8)), "not ours.txt"}


def test_a_reader_that_is_overtaken_by_two_compactions_reads_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(tmp_path, pipeline())
    for epoch in range(4):
        publish(*log, epoch, [Said("a", 0, 1)])
    read, overtaken = PaneFiles.panes, []

    def slowly(self: PaneFiles, *arguments: object) -> pl.DataFrame:
        if not overtaken:
            overtaken.append(True)
            for epoch in (4, 5):
                compaction(Store.open(tmp_path / "panes"), commits=1).run(epoch, 0)
                publish(*log, epoch, [Said("a", 0, 1)])
            assert not (tmp_path / "panes" / DATA / first).exists()
        return read(self, *arguments)  # type: ignore[arg-type]

    first = min(path.name for path in (tmp_path / "panes" / DATA).iterdir())
    reader = PaneLogReader(str(tmp_path))
    monkeypatch.setattr(PaneFiles, "panes", slowly)
    assert len(reader.panes()) == 6


def test_panes_go_by_their_retention_and_the_table_keeps_them(tmp_path: Path) -> None:
    what = pipeline()
    log = open_log(tmp_path, what)
    store = Store.open(tmp_path / "panes")
    for epoch in range(20):
        publish(*log, epoch, [Said("a", 0, epoch), Said("b", epoch, 1)], Interval(0, 1) if epoch == 2 else None)
        if epoch % 5 == 4:  # epochs are committed at their number here
            compaction(store, commits=1, retention=6, largest_file=1).run(epoch + 1, epoch)
    reader = PaneLogReader(str(tmp_path))
    assert reader.kept_since == 13
    assert reader.panes()["epoch"].unique().sort().to_list() == list(range(13, 20))
    assert rows_of(reader.current())[0] == ("a", 0, 20, sum(range(20)))
    assert len(reader.current()) == 21
    assert reader.intervals() == []
    with pytest.raises(StateError) as refused:
        reader.panes(since=12)
    assert refused.value.code == "STATE_PANES_NOT_KEPT"
    assert len(reader.panes(since=13)) == 14


def test_a_damaged_log_is_not_compacted(tmp_path: Path) -> None:
    log = open_log(tmp_path, pipeline())
    for epoch in range(4):
        publish(*log, epoch, [Said("a", 0, 1)])
    before = sorted(path.name for path in (tmp_path / "panes" / DATA).iterdir())
    (tmp_path / "panes" / DATA / before[2]).write_bytes(b"PAR1")
    with pytest.raises(StateError) as refused:
        compaction(Store.open(tmp_path / "panes"), commits=1).run(4, 0)
    assert refused.value.code == "STATE_DAMAGED"
    assert {*before} <= {path.name for path in (tmp_path / "panes" / DATA).iterdir()}


def test_the_writer_compacts_now_and_then_and_a_long_log_stays_small(tmp_path: Path) -> None:
    log, _ = writer = open_log(tmp_path, pipeline())
    for epoch in range(4 * COMMITS):
        publish(*writer, epoch, [Said("a", epoch % 3, 1)])
        if epoch % 16 == 0:
            log.compact(before=epoch + 1, now=epoch)
    assert len(list((tmp_path / "panes" / DATA).iterdir())) < 3 * COMMITS
    assert PaneLogReader(str(tmp_path)).current()["count"].sum() == 4 * COMMITS
    assert len(PaneLogReader(str(tmp_path)).panes()) == 4 * COMMITS


def test_the_retention_of_a_pane_log_is_no_part_of_the_definition() -> None:
    kept = pipeline().write(PaneLog(retention="30d"))
    assert repr(kept.pane_log) == "PaneLog(retention='30d')"
    assert kept.pane_log.retention == 30 * 86_400_000_000
    assert kept.shape() == pipeline().shape()
    with pytest.raises(Exception, match="keeps no pane"):
        PaneLog(retention=0)


def test_discarding_panes_of_a_combiner_of_ones_own_stand_side_by_side_until_its_code_adds_them_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    what = pipeline({"count": Count(), "total": Product("value")})
    writer, stages = open_log(tmp_path, what)
    for epoch in range(9):
        frame = frame_of([Said("a", 0, 2, is_first=epoch == 3)], stages.published(), epoch)
        packed = pl.Series("_total.packed", [dump(2.0, Product("value"))], dtype=pl.Binary)
        publish_frames(writer, epoch, [frame.with_columns(packed)])
        if epoch % 2:
            with monkeypatch.context() as patch:  # the driver compacts without calling it
                patch.setattr(Product, "merge", None)
                compaction(f"{tmp_path}/panes", commits=1).run(epoch + 1, 0)
    reader = PaneLogReader(str(tmp_path), combiners=what.grouping.combiners)
    assert reader.current().select("count", "total").rows() == [(6, 2.0**6)]
    with pytest.raises(StateError) as refused:
        PaneLogReader(str(tmp_path)).current()
    assert refused.value.code == "STATE_NEEDS_COMBINER"
