"""What the engine finds in place of the real world while a script is played: stores, clocks, processes, threads, names.

Everything else is the engine as it runs for users.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.ownership import owner
from airflow_dataflow_provider.progress.ownership.process import Process as RealProcess
from airflow_dataflow_provider.progress.status import status
from airflow_dataflow_provider.progress.store import object_store
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.reduce_side import state
from tests.simulate.disk_store import SCHEME, DiskStore
from tests.simulate.filesystem import PROTOCOL, SimulatedFiles
from tests.simulate.scheduler import Scheduler
from tests.simulate.threads import Threads


@contextmanager
def staged(world: Scheduler) -> Iterator[None]:
    """Put a world in the place of the real one."""
    real_open = Store.open

    def open_store(url: str) -> Store:
        text = str(url).strip()
        return DiskStore(text.rstrip("/"), world) if text.startswith(SCHEME) else real_open(text)

    def clock() -> Micros:
        return clock_of(world)

    class Here(_Process):
        scheduler = world

    with ExitStack() as stack:
        for place, name, stand_in in (
            (Store, "open", staticmethod(open_store)),
            (object_store, "_EXCLUSIVE", object_store._EXCLUSIVE | {PROTOCOL}),
            (owner, "threading", Threads(world)),
            (owner, "Process", Here),
            (owner, "wall_clock", clock),
            (status, "wall_clock", clock),
            (state, "_LIVE", _Memory(world)),
            (uuid, "uuid4", lambda: uuid.UUID(int=world.chance.getrandbits(128), version=4)),
            (SimulatedFiles, "world", world),
        ):
            stack.enter_context(patch.object(place, name, stand_in))
        yield


def clock_of(world: Scheduler) -> Micros:
    """What the clock of the process that runs says; outside of any, the true time."""
    strand = world.current
    return world.now + (0 if strand is None else strand.process.skew)


@dataclass(frozen=True, slots=True)
class _Process(RealProcess):
    """The processes of a world; one can tell only of those on its own machine that they are gone."""

    @classmethod
    def current(cls) -> RealProcess:
        strand = cls.scheduler.current
        process = strand.process
        return cls(process.host, "boot", process.number, process.number)

    def is_gone(self) -> bool:
        strand = self.scheduler.current
        if strand is None or strand.process.host != self.host:
            return False
        return self.pid not in {each.process.number for each in self.scheduler.strands if each.process.alive}


class _Memory(MutableMapping[Any, Any]):
    """What a process keeps in its memory; another one has its own, and with the process it is gone."""

    def __init__(self, world: Scheduler) -> None:
        self._world = world

    @property
    def _mine(self) -> dict[Any, Any]:
        strand = self._world.current
        return {} if strand is None else strand.process.memory

    def __getitem__(self, key: Any) -> Any:
        return self._mine[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._mine[key] = value

    def __delitem__(self, key: Any) -> None:
        del self._mine[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mine)

    def __len__(self) -> int:
        return len(self._mine)
