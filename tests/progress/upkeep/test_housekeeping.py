"""A state that lives for years: what nobody needs goes, a little at a time, and nothing else does."""

from __future__ import annotations

import pytest

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import Prepared
from airflow_dataflow_provider.progress.ownership.owner import Ownership, present_owner
from airflow_dataflow_provider.progress.requests import requests
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from airflow_dataflow_provider.progress.upkeep import set_aside
from airflow_dataflow_provider.progress.upkeep.housekeeping import Housekeeping, sweep_claims
from airflow_dataflow_provider.progress.upkeep.set_aside import Retention
from tests.progress.samples import NOON, SECOND, claim, make_identity, plan, record

DAY = 86_400 * SECOND
WEEK = 7 * DAY


def _epoch(store: Store, epoch: int, *, expired: tuple[str, ...] = (), orphans: tuple[str, ...] = ()) -> None:
    """A committed epoch a day, with expired rows, and files that a task left which ran twice."""
    log, folder = EpochLog(store), f"{epoch:012d}"
    log.plan(plan(epoch))
    files = tuple(WrittenFile.write(store, "expired", f"{folder}/{name}", b"rows") for name in expired)
    for name in orphans:
        store.add(f"expired/{folder}/{name}", b"rows")
    log.prepare(Prepared(epoch, 1, EpochResult(expired_files=files)))
    log.commit(record(epoch, finished_at=NOON + epoch * DAY))


def _files(store: Store) -> list[str]:
    return [f"{folder}/{name}" for folder in store.list("expired") for name in store.list(f"expired/{folder}")]


def test_files_that_no_result_names_go_and_those_that_one_names_stay(store: Store) -> None:
    _epoch(store, 0, expired=("a.parquet",), orphans=("b.parquet", "c.parquet"))
    _epoch(store, 1, orphans=("d.parquet",))
    _epoch(store, 2, expired=("e.parquet",))
    EpochLog(store).plan(plan(3))
    store.add("expired/000000000003/f.parquet", b"its task has just written it")
    set_aside.sweep_orphans(store, EpochLog(store), range(4))
    assert _files(store) == [
        "000000000000/a.parquet",
        "000000000002/e.parquet",
        "000000000003/f.parquet",
    ]


def test_files_of_an_epoch_whose_result_is_gone_stay(store: Store) -> None:
    _epoch(store, 0, expired=("a.parquet",))
    store.delete("epochs/000000000/000000000000.prepared.json")
    set_aside.sweep_orphans(store, EpochLog(store), range(1))
    assert _files(store) == ["000000000000/a.parquet"]


def test_housekeeping_waits_until_a_task_that_ran_twice_writes_no_more(store: Store) -> None:
    for epoch in range(20):
        _epoch(store, epoch, orphans=("x.parquet",))
    housekeeping = Housekeeping(store, EpochLog(store), 1, Retention())
    housekeeping.sweep(before=20, now=NOON)
    assert [name[:12] for name in _files(store)] == [f"{epoch:012d}" for epoch in range(4, 20)]
    for epoch in range(20, 40):
        _epoch(store, epoch, orphans=("x.parquet",))
    housekeeping.sweep(before=40, now=NOON)
    assert [name[:12] for name in _files(store)] == [f"{epoch:012d}" for epoch in range(24, 40)]


def test_rows_are_kept_for_ever_by_default(store: Store) -> None:
    _epoch(store, 0, expired=("a.parquet",))
    Housekeeping(store, EpochLog(store), 1, Retention()).sweep(before=1, now=NOON + 10_000 * DAY)
    assert _files(store) == ["000000000000/a.parquet"]
    assert set_aside.kept_from(store, "expired") == 0


def test_a_retention_removes_the_rows_of_epochs_that_are_older(store: Store) -> None:
    for epoch in range(6):
        _epoch(store, epoch, expired=(f"{epoch}.parquet",))
    retention = Retention.from_conf({"dataflow.retention.expired": "3d", "spark.x": "1"})
    set_aside.apply_retention(store, EpochLog(store), retention, NOON + 5 * DAY)
    assert _files(store) == [f"{epoch:012d}/{epoch}.parquet" for epoch in range(3, 6)]
    assert set_aside.kept_from(store, "expired") == 3
    assert set_aside.kept_from(store, "rejected") == 0
    set_aside.apply_retention(store, EpochLog(store), retention, NOON)  # a clock that went back
    assert set_aside.kept_from(store, "expired") == 3
    assert len(list(EpochLog(store).records())) == 6


def test_readers_are_told_before_rows_go(store: Store) -> None:
    for epoch in range(3):
        _epoch(store, epoch, expired=("a.parquet",))
    seen = []

    class Watched(type(store)):  # type: ignore[misc]
        def delete(self, path: str, recursive: bool = False) -> None:
            seen.append((path, set_aside.kept_from(store, "expired")))
            store.delete(path, recursive)

    fields = {name: getattr(store, name) for name in ("url", "root", "files") if hasattr(store, name)}
    set_aside.apply_retention(Watched(**fields), EpochLog(store), Retention(expired=DAY), NOON + 10 * DAY)
    assert seen == [(f"expired/{epoch:012d}", 3) for epoch in range(3)]


@pytest.mark.parametrize(
    "conf",
    [
        {"dataflow.retention.rejected": "ninety days"},
        {"dataflow.retention.rejected": "0s"},
        {"dataflow.retention.rejected": "-1d"},
        {"dataflow.retention.panes": "90d"},
    ],
)
def test_what_is_no_retention_is_refused(conf: dict[str, str]) -> None:
    with pytest.raises(
        SubmissionError, match=r"dataflow\.retention\.expired or dataflow\.retention\.rejected"
    ) as error:
        Retention.from_conf(conf)
    assert error.value.code == "SUBMIT_CONF"


def test_requests_that_were_taken_go_after_a_week_with_their_answers(store: Store) -> None:
    make_identity(store)
    driver = claim(store)
    stop = requests.request_stop(store, NOON)
    requests.acknowledge(store, stop, NOON, driver.token)
    signal = requests.request_signal(store, "go", NOON, {"go"})
    requests.sweep(store, driver.token, NOON + WEEK - 1)
    assert len(store.list("requests")) == 3
    requests.sweep(store, driver.token, NOON + WEEK)
    assert store.list("requests") == [f"{signal.id}.json"]
    assert requests.pending(store) == [signal]


def test_requests_to_drivers_that_have_gone_go_after_a_week_and_those_to_the_present_one_stay(store: Store) -> None:
    make_identity(store)
    first = claim(store)
    requests.request_stop(store, NOON)
    first.release(NOON)
    second = claim(store, NOON)
    stop = requests.request_stop(store, NOON + 1)
    requests.sweep(store, second.token, NOON + 100 * DAY)
    assert store.list("requests") == [f"{stop.id}.json"]


def test_a_request_that_was_taken_never_waits_again_whenever_the_driver_is_killed(store: Store) -> None:
    """The request goes before its answer."""
    make_identity(store)
    driver = claim(store)
    stop = requests.request_stop(store, NOON)
    requests.acknowledge(store, stop, NOON, driver.token)
    pending = []

    class Watched(type(store)):  # type: ignore[misc]
        def delete(self, path: str, recursive: bool = False) -> None:
            store.delete(path, recursive)
            pending.extend(requests.pending(store))

    fields = {name: getattr(store, name) for name in ("url", "root", "files") if hasattr(store, name)}
    requests.sweep(Watched(**fields), driver.token, NOON + WEEK)
    assert pending == []
    store.write_json(f"requests/{stop.id}.done.json", {})  # the driver was killed between the two
    requests.sweep(store, driver.token, NOON + WEEK)
    assert store.list("requests") == []


def test_old_claims_go_a_thousand_at_a_time_and_the_newest_stands(store: Store) -> None:
    for token in (1, 999, 1000, 1999, 2000):
        document = claim(Store.open(f"{store.url}-{token}")).info.claim_to_json()
        store.write_json(f"owners/{token // 1000:05d}/{token:08d}.json", {**document, "token": token})
    sweep_claims(store)
    assert store.list("owners") == ["00001", "00002"]
    present = present_owner(store)
    assert present is not None
    assert present.token == 2000
    present_driver = Ownership.claim(store, mode="batch", run_id="next", now=NOON, take_over=True)
    assert present_driver.token == 2001
