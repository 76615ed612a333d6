"""Drivers that have started and do not own their pipeline yet.

Between a driver's start and its claim a JVM starts and modules are imported, which takes many seconds. The task that
starts a driver announces it here first, and withdraws the announcement once the driver has claimed or ended. So a stop
waits for it, and does not report that nothing runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from airflow_dataflow_provider.model.time import Micros, duration, from_iso, iso
from airflow_dataflow_provider.progress.store.documents import load_document
from airflow_dataflow_provider.progress.store.store import Json, Store
from airflow_dataflow_provider.progress.wall import wall_clock

PATIENCE: Final[Micros] = duration("10m")
"""How long an announcement is valid. Its task may end without withdrawing it."""

_FOLDER: Final = "launches"


@dataclass(frozen=True, slots=True)
class Launch:
    """A driver that is about to start.

    Args:
        run_id: the run of the driver.
        mode: its runtime mode.
        void_after: the time at which the announcement becomes void.
    """

    run_id: str
    mode: str
    void_after: Micros

    def to_json(self) -> Json:
        return {"run_id": self.run_id, "mode": self.mode, "void_after": iso(self.void_after)}

    @classmethod
    def from_json(cls, document: Json) -> Launch:
        return cls(document["run_id"], document["mode"], from_iso(document["void_after"]))


def announce(store: Store, run_id: str, mode: str, now: Micros, patience: Micros = PATIENCE) -> None:
    """Record that a driver is about to start."""
    store.write_json(_path(run_id), Launch(run_id, mode, now + patience).to_json())


def withdraw(store: Store, run_id: str) -> None:
    """Remove an announcement, if there is one, once the driver has claimed or ended."""
    store.delete(_path(run_id))


def announced(store: Store, now: Micros) -> list[Launch]:
    """The drivers that are about to start."""
    names = (name for name in store.list(_FOLDER) if name.endswith(".json"))
    found = [load_document(store, f"{_FOLDER}/{name}", Launch.from_json) for name in names]
    return [launch for launch in found if launch is not None and now <= launch.void_after]


def starting_on(url: str) -> list[str]:
    """The runs whose drivers are about to start at a state URL."""
    return [launch.run_id for launch in announced(Store.open(url), wall_clock())]


def _path(run_id: str) -> str:
    return f"{_FOLDER}/{run_id}.json"
