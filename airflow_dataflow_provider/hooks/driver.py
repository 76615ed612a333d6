"""One run of a driver on this machine: starts it once, finds it again, reads its output, ends it.

A run is a folder with a lock. The run's guardian (:mod:`~airflow_dataflow_provider.hooks.guardian`) holds the lock as
long as the driver lives. So the lock tells whether the driver runs; a process number could have been reused. A start
takes the same lock first, so a run cannot start twice.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from airflow_dataflow_provider.hooks import guardian
from airflow_dataflow_provider.progress.ownership import error_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from airflow_dataflow_provider.model.errors import DataflowError

_TAIL_LINES = 20
_ERROR = "error.json"
"""The file to which the driver writes its error."""
PROPERTIES = "spark.properties"
"""The file of Spark properties in a run's folder. The guardian deletes it when the driver ends."""
_ENDING = "ending"
"""The file that marks a run whose driver was told to end."""


@dataclass(frozen=True, slots=True)
class DriverRun:
    """A driver that runs, ran, or may run, in ``folder`` of this machine.

    Guarantees:
        * At most one driver of a run is alive at a time on this machine.
        * The driver outlives the process that started it. Any other process finds it by the folder.

    Does not do: see runs of other machines. The state's owner record shows these.
    """

    folder: Path

    @property
    def log(self) -> Path:
        """The driver's output. The output of the launch before this one is beside it, as ``driver.log.1``."""
        return self.folder / "driver.log"

    def launch(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        grace: float,
        prepare: Callable[[], None] = lambda: None,
    ) -> bool:
        """Start the driver, detached, unless it is alive.

        Args:
            command: the argument vector.
            environment: the whole environment of the driver.
            grace: seconds in which the driver must end by itself after :meth:`end`.
            prepare: called under the lock, just before this call starts the driver.

        Returns:
            Whether this call started it.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("a") as lock:
            if not _take(lock, fcntl.LOCK_EX):
                return False
            prepare()
            for name in ("exit.json", _ERROR, _ENDING):
                (self.folder / name).unlink(missing_ok=True)
            if self.log.exists():
                self.log.replace(f"{self.log}.1")
            with self.log.open("ab") as log:
                # This process ends at once. The guardian runs on in its own session and keeps the lock.
                subprocess.run(
                    [
                        sys.executable,
                        "-IS",
                        guardian.__file__,
                        str(lock.fileno()),
                        str(self.folder),
                        str(grace),
                        *command,
                    ],
                    env={**environment, error_file.VARIABLE: str(self.folder / _ERROR)},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[lock.fileno()],
                    start_new_session=True,
                    check=True,
                )
        return True

    @property
    def alive(self) -> bool:
        """Whether the driver, or at least its guardian, runs."""
        try:
            with (self.folder / "lock").open("r") as lock:
                return not _take(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    @property
    def exit_code(self) -> int | None:
        """The exit code of the last launch; None while it runs, without a launch, or if its guardian was killed."""
        document = self._document("exit.json")
        return None if document is None else int(document["code"])

    @property
    def has_ended(self) -> bool:
        """Whether the last launch is known to have ended; False also without a launch on this machine."""
        return (self.folder / "lock").exists() and not self.alive

    @property
    def is_ending(self) -> bool:
        """Whether the driver was told to end and still runs."""
        return (self.folder / _ENDING).exists() and self.alive

    @property
    def was_told_to_end(self) -> bool:
        """Whether the last launch was told to end; its exit code then does not prove that its work was done."""
        return bool((self._document("exit.json") or {}).get("told_to_end"))

    def end(self) -> None:
        """Tell the guardian to end the driver and everything it started, after the grace by force; returns at once."""
        document = self._document("guardian.json")
        if document is not None and self.alive:
            (self.folder / _ENDING).touch()
            os.kill(document["pid"], signal.SIGTERM)

    def output(self, *, poll: float) -> Iterator[list[str]]:
        """Follow the driver's output, from the start of this launch until the driver ends.

        Yields:
            The new lines, possibly none, at least every ``poll`` seconds.
        """
        with self.log.open(encoding="utf-8", errors="replace") as log:
            rest = ""
            while True:
                # Checked before reading, so that the last lines are read after the driver has ended.
                alive = self.alive
                *lines, rest = (rest + log.read()).split("\n")
                yield lines
                if not alive:
                    break
                if not lines:
                    time.sleep(poll)
            if rest:
                yield [rest]

    @property
    def failure(self) -> DataflowError | None:
        """The error that ended the last launch; None if its driver did not fail, or could not write it."""
        return error_file.read(self.folder / _ERROR)

    def error(self) -> str:
        """The driver's error as text, else the last lines of its output."""
        failure = self.failure
        if failure is not None:
            return str(failure)
        if not self.log.exists():
            return "it printed nothing"
        with self.log.open(encoding="utf-8", errors="replace") as log:
            tail = deque((line.rstrip() for line in log), maxlen=_TAIL_LINES)
        return "\n".join(tail) or "it printed nothing"

    def _document(self, name: str) -> dict[str, Any] | None:
        try:
            document: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        return document


def forget_old_runs(folder: Path, *, older_than: float) -> None:
    """Delete the folders of runs below ``folder`` that ended more than ``older_than`` seconds ago."""
    for exit_file in folder.glob("*/exit.json"):
        with suppress(OSError):  # another task may delete it at the same time
            if time.time() - exit_file.stat().st_mtime <= older_than:
                continue
            with (exit_file.parent / "lock").open("a") as lock:
                if _take(lock, fcntl.LOCK_EX):
                    shutil.rmtree(exit_file.parent)


def _take(lock: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
