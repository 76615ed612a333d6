"""Records to test with: everything that a test does not care about has a value."""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.progress.log.records import EpochPlan, EpochRecord
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.ownership.identity import PipelineIdentity
from airflow_dataflow_provider.progress.ownership.owner import Ownership
from airflow_dataflow_provider.progress.store.store import Store

T = TypeVar("T")

SECOND = 1_000_000
NOON = to_micros("2013-01-01T12:00:00Z")
SHAPE = {"key": "origin", "window": "FixedWindows('1h')"}


def make_identity(store: Store, **changes: Any) -> PipelineIdentity:
    given = {"name": "departures", "fingerprint": "f1", "definition": "Pipeline(...)", "shape": SHAPE, "partitions": 4}
    return identity.ensure(store, **{**given, "now": NOON, **changes})


def claim(store: Store, now: int = NOON, **changes: Any) -> Ownership:
    return Ownership.claim(store, **{"mode": "streaming", "run_id": "run-1", "now": now, **changes})


def plan(epoch: int, **changes: Any) -> EpochPlan:
    base = EpochPlan(epoch, "data", 1, "run-1", "streaming", Clock(NOON, NOTHING_KNOWN), NOON)
    return dataclasses.replace(base, **changes)


def record(epoch: int, **changes: Any) -> EpochRecord:
    base = EpochRecord(
        epoch=epoch,
        kind="data",
        mode="streaming",
        run_id="run-1",
        token=1,
        clock=Clock(NOON, NOTHING_KNOWN),
        published=NOTHING_KNOWN,
        end_of_input=False,
        rows=RowCounts(10, 3, 2, 1),
        panes=5,
        frontier=None,
        backlog=None,
        interval=None,
        started_at=NOON,
        finished_at=NOON + SECOND,
    )
    return dataclasses.replace(base, **changes)


def interval_record(epoch: int, start: int, end: int, **changes: Any) -> EpochRecord:
    batch = {"kind": "interval", "mode": "batch", "interval": Interval(start, end), "end_of_input": True}
    return record(epoch, **{**batch, **changes})


def at_once(work: Callable[[int], T], competitors: int = 8) -> list[T | Exception]:
    """What each of several threads got, or the error it met, when all did ``work`` at the same moment."""
    barrier, results = threading.Barrier(competitors), dict[int, T | Exception]()

    def compete(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except Exception as error:  # noqa: BLE001 - the errors are the result
            results[number] = error

    threads = [threading.Thread(target=compete, args=(number,)) for number in range(competitors)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # else a thread is done before the next gets its turn, and nothing is raced
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return [results[number] for number in range(competitors)]
