"""The replay while everything else runs: the world goes on by itself."""

from __future__ import annotations

import threading

from dags_examples.replay import Replay


class LiveReplay(threading.Thread):
    """Writes the rest of a replay's files at a speed, on a thread of its own.

    Args:
        replay: whose files.
        speed: seconds of the flights' time per second.
    """

    def __init__(self, replay: Replay, speed: float) -> None:
        super().__init__(name="replay", daemon=True)
        self._replay, self._speed, self._stopping = replay, speed, threading.Event()
        self.failure: BaseException | None = None
        self.written = 0

    def run(self) -> None:
        """Write until the end, or until it is stopped."""
        try:
            for _ in self._replay.run(self._speed, sleep=self._sleep):
                self.written += 1
        except _Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - whoever waits for the replay will look at it
            self.failure = error

    def stop(self) -> None:
        """Stop after the file at hand."""
        self._stopping.set()
        if self.is_alive():
            self.join()

    def _sleep(self, seconds: float) -> None:
        if self._stopping.wait(seconds):
            raise _Stopped


class _Stopped(Exception):  # noqa: N818 - a message to the loop, not an error
    pass
