"""Where engines run: each in a process tree of its own, so that what is measured of one is not another's."""

from __future__ import annotations

import multiprocessing
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import ParamSpec, TypeVar

from tests.benchmarks.measure import Cost, Meter

P = ParamSpec("P")
T = TypeVar("T")


class Place(ABC):
    """Runs calls in one process, which stays warm between them."""

    @property
    @abstractmethod
    def pid(self) -> int:
        """The process."""

    @abstractmethod
    def call(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call there and wait."""

    def measured(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Cost:
        """What a call there costs."""
        with Meter(self.pid) as meter:
            self.call(what, *args, **kwargs)
        return meter.cost

    @abstractmethod
    def close(self) -> None:
        """End its process and all that it started."""


class Here(Place):
    """This process, for where another one would have to start a Spark of its own."""

    @property
    def pid(self) -> int:
        return os.getpid()

    def call(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return what(*args, **kwargs)

    def close(self) -> None:
        """Nothing was started."""


class OwnProcess(Place):
    """A process that imports only what its engine needs, and writes what it has to say to a log file."""

    def __init__(self, log: Path) -> None:
        self._log = log
        spawning = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, mp_context=spawning, initializer=_talk_to, initargs=(log,))
        self._pid = self._pool.submit(os.getpid).result()

    @property
    def pid(self) -> int:
        return self._pid

    def call(self, what: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return self._pool.submit(what, *args, **kwargs).result()
        except Exception as error:
            error.add_note(f"What the engine's process had to say is in {self._log}")
            raise

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


def _talk_to(log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
