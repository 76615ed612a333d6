"""Shares one read of a state's status among all tasks of a triggerer that wait for it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from airflow_dataflow_provider.progress.status.status import Status

_Looks = dict[str, tuple[float, "asyncio.Task[Status | None]"]]
_looks: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, _Looks]] = WeakKeyDictionary()


async def look(state: str, *, max_age: float) -> Status | None:
    """The status of the pipeline at a state URL, None before its first run.

    Hundreds of tasks may wait for one state. Of those that ask within ``max_age`` seconds one reads it, in a thread;
    the others get the same status or error.

    Raises:
        StateError: the state exists and cannot be read.
    """
    loop = asyncio.get_running_loop()
    looks = _looks.setdefault(loop, {})
    began, task = looks.get(state, (0.0, None))
    if task is None or (task.done() and loop.time() - began > max_age):
        task = asyncio.ensure_future(asyncio.to_thread(_read, state))
        task.add_done_callback(_retrieve_error)
        looks[state] = loop.time(), task
    return await asyncio.shield(task)


def _read(state: str) -> Status | None:
    # It imports fsspec, which must not be imported while a DAG is parsed.
    from airflow_dataflow_provider.progress.status.status import find_status

    return find_status(state)


def _retrieve_error(task: asyncio.Task[Any]) -> None:
    # asyncio warns of an error that is never retrieved, and all waiting tasks may have ended meanwhile.
    if not task.cancelled():
        task.exception()
