"""A client of Airflow's REST API for the demo."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from dags_examples.demo.demo_error import DemoError

_ATTEMPTS = 5
_SECONDS = 30.0
"""Seconds in which a busy API server must answer."""


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of one task of one run.

    Attributes:
        state: Airflow's word for it; None before it is scheduled.
        attempt: which one; 0 before the first.
        started: ISO 8601, or None.
    """

    run_id: str
    task_id: str
    state: str | None
    attempt: int
    started: str | None


class AirflowApi:
    """A session at the REST API. Every call may be repeated without harm, and is, while the server is busy."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    @classmethod
    def log_in(cls, url: str, user: str, password: str) -> AirflowApi:
        client = httpx.Client(base_url=url, timeout=_SECONDS)
        api = cls(client)
        answer = api._ask("POST", "/auth/token", {"username": user, "password": password})
        client.headers["Authorization"] = f"Bearer {answer['access_token']}"
        return api

    def dag_ids(self) -> set[str]:
        """The DAGs that have been read so far."""
        return {dag["dag_id"] for dag in self._ask("GET", "/api/v2/dags?limit=100&exclude_stale=true")["dags"]}

    def import_errors(self) -> str:
        """The import errors of DAG files."""
        errors = self._ask("GET", "/api/v2/importErrors")["import_errors"]
        return "\n".join(f"{error['filename']}\n{error['stack_trace']}" for error in errors)

    def pause(self, dag_id: str, *, paused: bool = True) -> None:
        """Pause or unpause a DAG. A paused DAG runs no tasks."""
        self._ask("PATCH", f"/api/v2/dags/{dag_id}", {"is_paused": paused})

    def trigger(self, dag_id: str, run_id: str, interval: tuple[str, str] | None = None) -> None:
        """Start a run, about an interval of time if one is given (ISO 8601)."""
        about: dict[str, Any] = {"logical_date": None}
        if interval is not None:
            start, end = interval
            about = {"logical_date": start, "data_interval_start": start, "data_interval_end": end}
        self._ask("POST", f"/api/v2/dags/{dag_id}/dagRuns", {"dag_run_id": run_id, **about})

    def run_state(self, dag_id: str, run_id: str) -> str:
        """The state of a run: ``queued``, ``running``, ``success`` or ``failed``."""
        return str(self._ask("GET", f"/api/v2/dags/{dag_id}/dagRuns/{run_id}")["state"])

    def tasks(self, dag_id: str, run_id: str = "~") -> list[TaskState]:
        """The tasks of a run, or of all runs of the DAG, in the order in which they were started."""
        path = f"/api/v2/dags/{dag_id}/dagRuns/{run_id}/taskInstances?limit=100"
        found = [
            TaskState(task["dag_run_id"], task["task_id"], task["state"], task["try_number"], task["start_date"])
            for task in self._ask("GET", path)["task_instances"]
        ]
        return sorted(found, key=lambda task: (task.started is None, task.started or ""))

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        problem = ""
        for attempt in range(_ATTEMPTS):
            time.sleep(attempt)
            try:
                answer = self._client.request(method, path, json=body)
            except httpx.TransportError as error:
                problem = f"{type(error).__name__}: {error}"
                continue
            if answer.status_code == httpx.codes.CONFLICT and method == "POST":
                return {}  # the attempt before this one had got through after all
            if answer.is_success:
                return dict(answer.json())
            problem = f"{answer.status_code} {answer.text}"
            if answer.is_client_error:
                break
        raise DemoError(f"Airflow did not answer {method} {path}", problem)
