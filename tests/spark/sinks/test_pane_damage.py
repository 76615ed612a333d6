"""What is missing or damaged in a pane log is an error with a code, for readers and for drivers, and no short table."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_dataflow_provider import ACCUMULATING, StateError
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import Prepared
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.progress.samples import plan, record
from tests.spark.pane_logs import Said, open_log, pipeline, publish

EPOCHS = 4


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state whose epochs have each published a pane."""
    log, epochs = open_log(tmp_path, pipeline()), EpochLog(Store.open(tmp_path))
    for epoch in range(EPOCHS):
        epochs.plan(plan(epoch))
        epochs.prepare(Prepared(epoch, 1, EpochResult()))
        publish(*log, epoch, [Said("a", 0, epoch)])
        epochs.commit(record(epoch, panes_until=epoch))
    return tmp_path


def commit(epoch: int) -> str:
    return f"commits/000000000/{epoch:012d}.json"


@pytest.mark.parametrize("seed", range(8))
def test_a_bit_that_has_turned_is_no_other_value(state: Path, seed: int) -> None:
    file = sorted((state / "panes" / "data").iterdir())[seed % EPOCHS]
    data, chance = bytearray(file.read_bytes()), random.Random(seed)
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    for read in (PaneLogReader(str(state)).panes, PaneLogReader(str(state / "panes")).current):
        with pytest.raises(StateError, match=file.name) as refused:
            read()
        assert refused.value.code == "STATE_DAMAGED"


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [Path.unlink, cut], ids=["gone", "cut"])
def test_a_data_file_that_is_gone_or_cut_is_named(state: Path, damage: Callable[[Path], None]) -> None:
    file = sorted((state / "panes" / "data").iterdir())[1]
    damage(file)
    with pytest.raises(StateError, match=file.name) as refused:
        PaneLogReader(str(state)).current()
    assert refused.value.code == "STATE_DAMAGED"


@pytest.mark.parametrize(
    "gone",
    [[commit(0)], [commit(2)], [commit(3)], [commit(2), commit(3)], ["commits"], ["pane_log.json"], ["."]],
    ids=str,
)
def test_commits_that_are_gone_are_missed_by_readers_and_drivers(state: Path, gone: list[str]) -> None:
    for name in gone:
        path = state / "panes" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for use in (lambda: PaneLogReader(str(state)).current(), lambda: open_log(state, pipeline())):
        with pytest.raises(StateError) as refused:
            use()
        assert refused.value.code == "STATE_DAMAGED"
    assert (state / "panes" / "pane_log.json").exists() == (gone not in (["pane_log.json"], ["."]))


@pytest.mark.parametrize("gone", [0, 2])
def test_a_gap_is_missed_without_the_state_too(state: Path, gone: int) -> None:
    (state / "panes" / commit(gone)).unlink()
    with pytest.raises(StateError, match=f"epoch {gone}"):
        PaneLogReader(str(state / "panes")).panes()


def forget_epochs(state: Path, since: int) -> None:
    """The epoch log becomes an older one."""
    for epoch in range(since, EPOCHS):
        for kind in ("plan", "prepared", "commit"):
            (state / "epochs" / "000000000" / f"{epoch:012d}.{kind}.json").unlink()


@pytest.mark.parametrize("since", [0, 2])
def test_an_epoch_log_that_is_older_than_the_pane_log_is_missed(state: Path, since: int) -> None:
    forget_epochs(state, since)
    with pytest.raises(StateError, match=f"no commit of epoch {since}") as refused:
        open_log(state, pipeline())
    assert refused.value.code == "STATE_DAMAGED"


@pytest.mark.parametrize("panes", [[Said("a", 0, 3)], []], ids=["other panes", "no panes"])
def test_an_epoch_that_was_published_once_is_not_published_otherwise(state: Path, panes: list[Said]) -> None:
    (state / "epochs" / "000000000" / f"{EPOCHS - 1:012d}.commit.json").unlink()
    log = open_log(state, pipeline())
    with pytest.raises(StateError, match="otherwise") as refused:
        publish(*log, EPOCHS - 1, panes)
    assert refused.value.code == "STATE_DAMAGED"


def test_a_foreign_file_among_the_commits_means_nothing(state: Path) -> None:
    (state / "panes" / "commits" / "lost+found").mkdir()
    (state / "panes" / "commits" / "000000000" / "copy of 000000000001.json").write_text("{}")
    assert len(PaneLogReader(str(state)).panes()) == EPOCHS
    open_log(state, pipeline())


def test_a_state_can_be_moved_with_its_pane_log(state: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    moved.mkdir()
    for name in ("panes", "pane_log.json", "epochs"):
        (state / name).rename(moved / name)
    assert len(PaneLogReader(str(moved)).panes()) == EPOCHS


def test_a_pane_log_of_another_release_is_refused(state: Path) -> None:
    header = state / "panes" / "pane_log.json"
    header.write_text(header.read_text().replace('"format": 2', '"format": 1'))
    for use in (lambda: PaneLogReader(str(state)), lambda: open_log(state, pipeline(refinement=ACCUMULATING))):
        with pytest.raises(StateError) as refused:
            use()
        assert refused.value.code == "STATE_FORMAT"
