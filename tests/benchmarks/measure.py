"""What a call costs: wall time, and CPU time and memory of a whole process tree, JVM and Python workers included."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import psutil

_SHORTEST_PAUSE = 0.1
_LARGEST_SHARE = 0.05
"""Looking at the memory of a large tree takes time too; it gets at most this share of one core."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What was measured.

    Attributes:
        seconds: wall time.
        cpu_s: user and system time of all processes of the tree, those that have ended meanwhile included.
        peak_mb: the largest memory of all processes together that was seen, in 10^6 bytes. Pages that several share are
            counted once (proportional set size; where the system does not tell, resident set size).
        workers_mb: the same of Spark's Python workers alone: all that a JVM of the tree has started.
    """

    seconds: float
    cpu_s: float
    peak_mb: float
    workers_mb: float


class Meter:
    """Measures a process tree while a ``with`` block runs; then ``cost`` is known.

    Args:
        pid: the root of the tree.
    """

    cost: Cost

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="memory", daemon=True)
        self._peak = self._workers_peak = 0

    def __enter__(self) -> Self:
        self._look()
        self._cpu = self._cpu_seconds()
        self._watcher.start()
        self._started = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        seconds = time.perf_counter() - self._started
        cpu = self._cpu_seconds() - self._cpu
        self._over.set()
        self._watcher.join()
        self._look()
        self.cost = Cost(seconds, cpu, self._peak / 1e6, self._workers_peak / 1e6)

    def _watch(self) -> None:
        pause = _SHORTEST_PAUSE
        while not self._over.wait(pause):
            began = time.thread_time()
            self._look()
            pause = max(_SHORTEST_PAUSE, (time.thread_time() - began) / _LARGEST_SHARE)

    def _look(self) -> None:
        total = of_workers = 0
        tree = list(self._tree())
        workers = {worker.pid for process in tree for worker in _started_by_jvm(process)}
        for process in tree:
            try:
                memory = process.memory_full_info()
            except psutil.Error:
                continue
            size = getattr(memory, "pss", memory.rss)
            total += size
            of_workers += size if process.pid in workers else 0
        self._peak, self._workers_peak = max(self._peak, total), max(self._workers_peak, of_workers)

    def _cpu_seconds(self) -> float:
        total = 0.0
        for process in self._tree():
            try:
                times = process.cpu_times()
            except psutil.Error:
                continue
            # The children's part is of those that have ended.
            total += times.user + times.system + times.children_user + times.children_system
        return total

    def _tree(self) -> Iterator[psutil.Process]:
        yield self._root
        yield from self._root.children(recursive=True)


def _started_by_jvm(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True) if process.name() == "java" else []
    except psutil.Error:
        return []
