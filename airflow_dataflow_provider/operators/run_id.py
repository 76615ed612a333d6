"""The id of a run: the same for every retry of a task, a new one after a clear."""

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
    """The id of the driver's run that a task attempt starts or finds again.

    A retry has the id of the attempt before it, so that it finds that driver or its result. A cleared task has a new
    id, so that the work is done anew. ``max_tries`` tells them apart: a retry keeps it, a clear raises it. The start
    time of the DAG run distinguishes it from a deleted DAG run of the same name.

    Attributes:
        task: the task instance, readable and unique.
        generation: a digest that changes with each clear.
    """

    task: str
    generation: str

    @classmethod
    def of(cls, context: Context) -> RunId:
        """The run id of a task attempt."""
        ti, dag_run = context["ti"], context["dag_run"]
        names = (ti.dag_id, ti.run_id, ti.task_id, str(ti.map_index))
        readable = _UNFIT.sub("_", f"{ti.dag_id}.{ti.task_id}.{ti.run_id}")[:120]
        return cls(f"{readable}-{_digest(*names)}", _digest(str(ti.max_tries), str(dag_run.start_date)))

    def __str__(self) -> str:
        return f"{self.task}-{self.generation}"

    def is_of_same_task(self, run_id: str) -> bool:
        """Whether this task instance started that run before it was cleared."""
        return run_id != str(self) and run_id.rpartition("-")[0] == self.task


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:8]
