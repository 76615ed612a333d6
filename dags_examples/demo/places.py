"""The files of the demo, all below one folder."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dags_examples.demo.demo_error import DemoError
from dags_examples.demo.processes import Marked

REPOSITORY = Path(__file__).resolve().parents[2]
_LOCK, _MARK = ".lock", ".processes"


@dataclass(frozen=True, slots=True)
class Places:
    """The demo's folder, and what is in it."""

    out: Path = REPOSITORY / "build" / "demo"

    @property
    def dags(self) -> Path:
        return REPOSITORY / "dags_examples"

    @property
    def airflow(self) -> Path:
        return self.out / "airflow"

    @property
    def flights(self) -> Path:
        """The files that the replay writes and the pipeline reads."""
        return self.out / "flights"

    @property
    def states(self) -> Path:
        """The states of the pipeline, one for each way of running it."""
        return self.out / "states"

    @property
    def reports(self) -> Path:
        return self.out / "reports"

    @property
    def report(self) -> Path:
        return self.out / "report.json"

    @property
    def picture(self) -> Path:
        return self.out / "skew.svg"

    def state(self, way: str) -> str:
        """The state of one way of running: ``batch``, ``micro-batch`` or ``stream``."""
        return str(self.states / way)

    @contextmanager
    def taken(self, marked: Marked) -> Iterator[None]:
        """Lock and empty the folder.

        Raises:
            DemoError: another demo runs in it.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        with (self.out / _LOCK).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DemoError(f"another demo is running in {self.out}") from None
            mark = self.out / _MARK
            if mark.exists():
                # A demo that was killed could not clear up after itself.
                Marked(mark.read_text("utf-8")).end(patience=0)
            for path in self.out.iterdir():
                if path.name == _LOCK:
                    continue
                if path.is_dir():
                    shutil.rmtree(path)
                else:
                    path.unlink()
            mark.write_text(marked.mark, "utf-8")
            yield
            mark.unlink()

    def task_log(self, dag_id: str, run_id: str, task_id: str, lines: int = 25) -> str:
        """The end of a task's log: of its last attempt, as text."""
        folder = self.airflow / "logs" / f"dag_id={dag_id}" / f"run_id={run_id}" / f"task_id={task_id}"
        attempts = sorted(folder.glob("attempt=*.log"), key=lambda path: path.stat().st_mtime)
        if not attempts:
            return f"there is no log in {folder}"
        written = attempts[-1].read_text("utf-8", errors="replace").splitlines()
        return "\n".join([f"the end of {attempts[-1]}:", *map(_as_text, written[-lines:])])


def _as_text(line: str) -> str:
    """One line of a log that Airflow writes as JSON."""
    try:
        entry = json.loads(line)
        text = f"{entry.get('level', ''):<8}{entry['event']}"
    except (ValueError, TypeError, KeyError):
        return line
    errors = entry.get("error_detail") or []
    return "\n".join([text, *(f"        {error['exc_type']}: {error['exc_value']}" for error in errors)])
