from __future__ import annotations

from collections.abc import Callable

import pytest

from airflow_dataflow_provider.model.errors import OwnershipError, StateError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN, WatermarkCurve
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochPlan, Prepared
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, at_once, interval_record, plan, record


@pytest.fixture
def log(store: Store) -> EpochLog:
    return EpochLog(store)


def _commit(log: EpochLog, *epochs: int) -> None:
    for epoch in epochs:
        log.plan(plan(epoch))
        log.commit(record(epoch))


def test_an_empty_log_has_nothing(log: EpochLog) -> None:
    assert log.last_record() is None
    assert log.open_plan() is None
    assert log.planned(0) is log.prepared(0) is log.record(0) is None
    assert list(log.records()) == []


def test_an_epoch_is_planned_prepared_and_committed(log: EpochLog) -> None:
    log.plan(plan(0))
    log.prepare(Prepared(0, 1, EpochResult(files=("a",))))
    committed = log.commit(record(0))
    assert log.planned(0) == plan(0)
    assert log.prepared(0) == Prepared(0, 1, EpochResult(files=("a",)))
    assert log.record(0) == log.last_record() == committed
    assert log.open_plan() is None


def test_a_plan_without_a_commit_is_open_for_whoever_comes_next(log: EpochLog, store: Store) -> None:
    _commit(log, 0, 1)
    planned = log.plan(plan(2, clock=plan(2).clock, forgotten=("a",)))
    successor = EpochLog(store)
    assert successor.open_plan() == planned
    assert successor.prepared(2) is None
    successor.commit(record(2, token=2, run_id="run-2"))
    assert successor.open_plan() is None
    assert successor.last_record() == successor.record(2)


def test_a_prepared_result_without_a_commit_is_the_one_that_the_next_driver_commits(
    log: EpochLog, store: Store
) -> None:
    log.plan(plan(0))
    first = log.prepare(Prepared(0, 1, EpochResult(panes=1)))
    successor = EpochLog(store)
    assert successor.open_plan() == plan(0)
    assert successor.prepare(Prepared(0, 2, EpochResult(panes=2))) == first == successor.prepared(0)


def test_the_first_plan_of_an_epoch_stands(log: EpochLog) -> None:
    first = log.plan(plan(0, planned_at=NOON))
    assert log.plan(plan(0, planned_at=NOON + 1)) == first


def test_the_first_commit_of_an_epoch_stands(log: EpochLog) -> None:
    log.plan(plan(0))
    first = log.commit(record(0, finished_at=NOON + 1))
    assert log.commit(record(0, finished_at=NOON + 2)) == first
    assert log.last_record() == first


def test_a_driver_cannot_plan_what_another_has_planned(log: EpochLog, store: Store) -> None:
    log.plan(plan(0))
    with pytest.raises(OwnershipError, match="already planned by claim 1") as error:
        EpochLog(store).plan(plan(0, token=2))
    assert error.value.code == "OWNER_FENCED"


def test_a_fenced_driver_cannot_commit_what_its_successor_has_committed(log: EpochLog, store: Store) -> None:
    log.plan(plan(0))
    EpochLog(store).commit(record(0, token=2, run_id="run-2"))
    with pytest.raises(OwnershipError, match=r"already committed by claim 2 \(run run-2\)") as error:
        log.commit(record(0))
    assert error.value.code == "OWNER_FENCED"
    with pytest.raises(OwnershipError):
        log.commit(record(0))


def test_of_drivers_that_commit_at_once_one_does(store: Store) -> None:
    logs = [EpochLog(store) for _ in range(8)]
    logs[0].plan(plan(0))
    results = at_once(lambda number: logs[number].commit(record(0, token=number + 1)))
    winners = [result for result in results if not isinstance(result, Exception)]
    assert winners == [EpochLog(store).record(0)]
    assert sum(isinstance(result, OwnershipError) for result in results) == 7


@pytest.mark.parametrize("step", [lambda log: log.plan(plan(3)), lambda log: log.commit(record(3))])
@pytest.mark.parametrize("committed", [(), (0, 1)])
def test_no_epoch_begins_before_the_one_before_it_is_committed(
    store: Store, committed: tuple[int, ...], step: Callable[[EpochLog], object]
) -> None:
    log = EpochLog(store)
    _commit(log, *committed)
    log.plan(plan(2))
    for driver in (log, EpochLog(store)):
        with pytest.raises(StateError, match="epoch 2 is not committed") as error:
            step(driver)
        assert error.value.code == "STATE_EPOCH_OPEN"
    _commit(log, 2)
    step(log)


def test_a_log_that_lost_a_commit_is_refused(log: EpochLog, store: Store) -> None:
    _commit(log, 0, 1)
    log.plan(plan(2))
    store.delete("epochs/000000000/000000000001.commit.json")
    with pytest.raises(StateError, match="epochs 1, 2 ") as error:
        EpochLog(store).open_plan()
    assert error.value.code == "STATE_LOG_BROKEN"


def test_commits_carry_totals_and_watermarks_forward_across_drivers(store: Store) -> None:
    EpochLog(store).commit(record(0, published=WatermarkCurve.flat(NOON)))
    EpochLog(store).commit(record(1, published=WatermarkCurve.flat(NOON - 1)))
    last = EpochLog(store).last_record()
    assert last is not None
    assert (last.totals, last.panes_total) == (RowCounts(20, 6, 4, 2), 10)
    assert last.published == WatermarkCurve.flat(NOON)


def test_records_come_in_order_from_any_epoch_on(log: EpochLog) -> None:
    """The epochs lie in two folders: 999 is the last of the first."""
    _commit(log, *range(996, 1004))
    assert [each.epoch for each in log.records()] == list(range(996, 1004))
    assert [each.epoch for each in log.records(since=998)] == list(range(998, 1004))
    assert [each.epoch for each in log.records(since=1000)] == list(range(1000, 1004))


def test_the_last_record_is_found_in_the_folder_before_when_the_newest_holds_only_a_plan(
    log: EpochLog, store: Store
) -> None:
    _commit(log, 998, 999)
    log.plan(plan(1000))
    reader = EpochLog(store)
    last, opened = reader.last_record(), reader.open_plan()
    assert last is not None
    assert opened is not None
    assert (last.epoch, opened.epoch) == (999, 1000)


def test_the_last_record_is_found_without_reading_the_others(log: EpochLog, store: Store) -> None:
    _commit(log, 1, 2)
    store.write("epochs/000000000/000000000001.commit.json", b"not read")
    store.write("epochs/000000000/000000000001.plan.json", b"not read")
    last = EpochLog(store).last_record()
    assert last is not None
    assert last.epoch == 2
    assert EpochLog(store).open_plan() is None
    with pytest.raises(StateError):
        list(log.records())


def test_the_commits_of_the_stream_are_read_newest_first_and_those_of_intervals_passed_over(
    log: EpochLog, store: Store
) -> None:
    _commit(log, 0, 1)
    for epoch in (2, 3):
        log.plan(plan(epoch, kind="interval", interval=Interval(0, 1)))
        log.commit(interval_record(epoch, 0, 1))
    log.plan(plan(4))
    log.commit(record(4, kind="abandoned"))
    _commit(log, 5)
    store.write("epochs/000000000/000000000002.commit.json", b"not read")
    last = log.last_record()
    assert [found.epoch for found in log.stream_records(last)] == [5, 1, 0]
    assert [found.epoch for found in log.stream_records(log.record(4))] == [1, 0]
    assert list(log.stream_records(None)) == []


def test_a_driver_lists_nothing_after_its_first_epoch(
    log: EpochLog, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    _commit(log, 0)

    def refuse(_self: Store, folder: str) -> list[str]:
        raise AssertionError(f"{folder} was listed")

    monkeypatch.setattr(type(store), "list", refuse)
    for epoch in (1, 2):
        log.plan(plan(epoch))
        log.prepare(Prepared(epoch, 1, EpochResult()))
        log.commit(record(epoch))


def test_a_damaged_plan_is_unreadable_and_named(log: EpochLog, store: Store) -> None:
    store.write_json("epochs/000000000/000000000000.plan.json", {**plan(0).to_json(), "kind": "other"})
    with pytest.raises(StateError, match=r"000000000000\.plan\.json.*'other'") as error:
        log.open_plan()
    assert error.value.code == "STATE_UNREADABLE"


def test_strange_files_in_the_folder_are_left_alone(log: EpochLog, store: Store) -> None:
    _commit(log, 0)
    for name in ("epochs/README", "epochs/000000000/notes.txt", "epochs/000000000/000000000009.commit.json~"):
        store.write(name, b"hello")
    last = EpochLog(store).last_record()
    assert last is not None
    assert last.epoch == 0


def test_what_was_planned_is_what_is_replayed(store: Store) -> None:
    planned: EpochPlan = plan(0, estimate=NOTHING_KNOWN, forgotten=("a",), requests=("go",))
    EpochLog(store).plan(planned)
    assert EpochLog(store).open_plan() == planned
