"""The replay of the flights on its own thread, while everything else runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from airflow_dataflow_provider.model.time import Micros
from dags_examples.replay import Replay


class LiveReplay(threading.Thread):
    """Writes the files of a replay at a speed, on a thread of its own; at one moment it waits to be told to go on.

    Args:
        replay: whose files.
        speed: seconds of the flights' time per second.
        hold: the moment.
    """

    def __init__(self, replay: Replay, speed: float, hold: Micros) -> None:
        super().__init__(name="replay", daemon=True)
        self._replay, self._speed, self._hold = replay, speed, hold
        self._going_on, self._stopping = threading.Event(), threading.Event()
        self.failure: BaseException | None = None

    def run(self) -> None:
        """Write until the end, or until it is stopped."""
        try:
            first = sum(end <= self._hold and not self._replay.path(end).exists() for end in self._replay.files)
            for _ in islice(self._files(), first):
                pass
            self._going_on.wait()
            for _ in self._files():
                pass
        except _Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - whoever waits for the replay will look at it
            self.failure = error

    def go_on(self) -> None:
        """Do not wait any more at the moment."""
        self._going_on.set()

    def stop(self) -> None:
        """Stop after the file at hand, and wait until it has."""
        self._stopping.set()
        self._going_on.set()
        if self.is_alive():
            self.join()

    def _files(self) -> Iterator[Path]:
        return self._replay.run(self._speed, sleep=self._sleep)

    def _sleep(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Stopped


class _Stopped(Exception):  # noqa: N818 - a message to the loop, not an error
    pass
