"""The name of a run: the same for every retry of a task, another one after a clear."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow.sdk import Context

_UNFIT = re.compile(r"[^A-Za-z0-9_.+-]+")


@dataclass(frozen=True, slots=True)
class RunId:
    """Which run of the driver a task attempt is about.

    A retry is about the run that the attempt before it started: it finds that driver again, or its result. A clear asks
    for the work to be done anew, so it is about another run. ``max_tries`` tells them apart: a retry keeps it, a clear
    raises it. The start of the DAG run tells a DAG run from one that had the same name before it was deleted.

    Attributes:
        task: the task instance, readable and unique.
        generation: which clear of it.
    """

    task: str
    generation: str

    @classmethod
    def of(cls, context: Context) -> RunId:
        """The run that this task attempt is about."""
        ti, dag_run = context["ti"], context["dag_run"]
        names = (ti.dag_id, ti.run_id, ti.task_id, str(ti.map_index))
        readable = _UNFIT.sub("_", f"{ti.dag_id}.{ti.task_id}.{ti.run_id}")[:120]
        return cls(f"{readable}-{_digest(*names)}", _digest(str(ti.max_tries), str(dag_run.start_date)))

    def __str__(self) -> str:
        return f"{self.task}-{self.generation}"

    def is_of_same_task(self, run_id: str) -> bool:
        """Whether that run was started by this very task instance, before it was cleared."""
        return run_id != str(self) and run_id.rpartition("-")[0] == self.task


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
