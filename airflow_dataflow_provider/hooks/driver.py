"""One run of a driver on this machine: started once, found again, read, ended.

A run is a folder. Its lock is held by the run's guardian (:mod:`~airflow_dataflow_provider.hooks.guardian`) as long as
the driver lives, so "is it running?" is a question to the kernel, not to a process number that may have been given to
someone else. Starting a run takes the same lock first: a run cannot start twice, and there is no moment between
starting it and knowing that it was started.
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
"""The file in which the driver leaves why it failed."""
PROPERTIES = "spark.properties"
"""The file of Spark properties in a run's folder; the guardian removes it with the driver's end."""
_ENDING = "ending"
"""The file that marks a run whose driver was told to end."""


@dataclass(frozen=True, slots=True)
class DriverRun:
    """A driver that runs, ran, or may run, in ``folder`` of this machine.

    Guarantees:
        * At most one driver of a run lives at a time on this machine.
        * The driver outlives the process that started it; any other process can find it again by the folder.

    Does not do: see runs of other machines. There the state's owner record tells.
    """

    folder: Path

    @property
    def log(self) -> Path:
        """What the driver printed. The log of the launch before this one is beside it, as ``driver.log.1``."""
        return self.folder / "driver.log"

    def launch(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        grace: float,
        prepare: Callable[[], None] = lambda: None,
    ) -> bool:
        """Start the driver, detached, unless it lives.

        Args:
            command: the argument vector.
            environment: the whole environment of the driver.
            grace: seconds that the driver has to end by itself once :meth:`end` was called.
            prepare: called just before the start, when it is sure that this call will start the driver.

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
                # Ends at once: the guardian goes on in a session of its own, and the lock with it.
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
        """Whether the driver (or at least its guardian) runs."""
        try:
            with (self.folder / "lock").open("r") as lock:
                return not _take(lock, fcntl.LOCK_SH)
        except FileNotFoundError:
            return False

    @property
    def exit_code(self) -> int | None:
        """How the last launch ended; None while it runs, if there was none, or if its guardian was killed."""
        document = self._document("exit.json")
        return None if document is None else int(document["code"])

    @property
    def has_ended(self) -> bool:
        """Whether the last launch is known to have ended; False also where there was none on this machine."""
        return (self.folder / "lock").exists() and not self.alive

    @property
    def condemned(self) -> bool:
        """Whether the driver was told to end, and still runs."""
        return (self.folder / _ENDING).exists() and self.alive

    @property
    def was_told_to_end(self) -> bool:
        """Whether the last launch was told to end, so that its exit status does not say that it had finished."""
        return bool((self._document("exit.json") or {}).get("told_to_end"))

    def end(self) -> None:
        """Have the driver and everything it started end, by force if need be; returns at once."""
        document = self._document("guardian.json")
        if document is not None and self.alive:
            (self.folder / _ENDING).touch()
            os.kill(document["pid"], signal.SIGTERM)

    def output(self, *, poll: float) -> Iterator[list[str]]:
        """What the driver prints, from the start of this launch, as it comes; ends with the driver.

        Yields:
            The lines since the last time, possibly none: the caller has its turn every ``poll`` seconds.
        """
        with self.log.open(encoding="utf-8", errors="replace") as log:
            rest = ""
            while True:
                # Asked before reading: what was printed before the end is then read after it.
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
        """The error that ended the last launch; None if its driver could not say so, or did not fail."""
        return error_file.read(self.folder / _ERROR)

    def error(self) -> str:
        """Why the driver failed, in its own words: its error, else the last lines that it printed."""
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
    """Remove the folders of runs that ended long ago, with their logs.

    Args:
        folder: where the folders of the runs are.
        older_than: seconds since the end.
    """
    for exit_file in folder.glob("*/exit.json"):
        with suppress(OSError):  # another task removes it, too
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
