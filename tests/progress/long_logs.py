"""States that have run for a long time, made fast: old epochs as archives, young ones as documents."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from airflow_dataflow_provider.progress.log.archive import pack
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.records import EpochPlan, EpochRecord, Prepared
from airflow_dataflow_provider.progress.store.numbered import GROUP, NumberedFiles
from airflow_dataflow_provider.progress.store.store import Json, Store
from tests.progress.samples import plan, record

Epoch = tuple[EpochPlan, Prepared, EpochRecord]


def sample_epoch(epoch: int) -> Epoch:
    """An epoch about which nothing is special."""
    return plan(epoch), Prepared(epoch, 1, EpochResult()), record(epoch)


def make_log(
    store: Store, epochs: int, make: Callable[[int], Epoch] = sample_epoch, *, archived: bool = True
) -> EpochRecord:
    """Write a log of so many committed epochs; the newest commit."""
    files = NumberedFiles(store, "epochs", digits=12)
    last: EpochRecord | None = None

    def documents(numbers: Iterable[int]) -> Iterator[tuple[int, dict[str, Json]]]:
        nonlocal last
        for number in numbers:
            planned, prepared, committed = make(number)
            last = committed.following(last)
            yield number, {"plan": planned.to_json(), "prepared": prepared.to_json(), "commit": last.to_json()}

    old = max(0, (epochs - 1) // GROUP - 1) if archived else 0
    for group in range(old):
        numbers = range(group * GROUP, (group + 1) * GROUP)
        _write(store, f"{files.folder_of(group)}.jsonl.gz", pack(documents(numbers)))
    for number, kinds in documents(range(old * GROUP, epochs)):
        for kind, document in kinds.items():
            _write(store, files.path(number, f"{kind}.json"), json.dumps(document).encode())
    assert last is not None
    return last


def _write(store: Store, path: str, data: bytes) -> None:
    """Not by way of the store, which waits for the disk each time."""
    local = store.local_path(path)
    if local is None:
        store.write(path, data)
        return
    Path(local).parent.mkdir(parents=True, exist_ok=True)
    Path(local).write_bytes(data)
