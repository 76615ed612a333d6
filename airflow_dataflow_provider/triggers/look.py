"""One look at a state for all that wait for it in one triggerer."""

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

    Hundreds of tasks may wait for one state. Of those that look within ``max_age`` seconds one reads it, in a thread;
    the others get what it saw, its error included.

    Raises:
        StateError: the state is there, and cannot be read.
    """
    loop = asyncio.get_running_loop()
    looks = _looks.setdefault(loop, {})
    began, task = looks.get(state, (0.0, None))
    if task is None or (task.done() and loop.time() - began > max_age):
        task = asyncio.ensure_future(asyncio.to_thread(_read, state))
        task.add_done_callback(_heard)
        looks[state] = loop.time(), task
    return await asyncio.shield(task)


def _read(state: str) -> Status | None:
    # fsspec and the file system behind it: not while a DAG is parsed.
    from airflow_dataflow_provider.progress.status.status import find_status

    return find_status(state)


def _heard(task: asyncio.Task[Any]) -> None:
    # Should all that wait have gone meanwhile: an error that nobody asks for is no leak.
    if not task.cancelled():
        task.exception()
