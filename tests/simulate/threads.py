"""Threads of a world: what :mod:`threading` offers, as strands that take turns.

The heartbeat is a thread of its own; here it beats in the time of the world.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.simulate.scheduler import Scheduler, Strand


class Threads:
    """Stands in for the module ``threading`` in a module that starts threads."""

    def __init__(self, world: Scheduler) -> None:
        self._world = world

    def Lock(self) -> Lock:  # noqa: N802 - the name that it stands in for
        return Lock(self._world)

    def Event(self) -> Event:  # noqa: N802
        return Event(self._world)

    def Thread(self, target: Callable[[], Any], name: str = "", daemon: bool = False) -> Thread:  # noqa: N802, ARG002
        return Thread(self._world, target)


class Lock:
    """One strand at a time."""

    def __init__(self, world: Scheduler) -> None:
        self._world, self._held = world, False

    def __enter__(self) -> None:
        while self._held and self._world.current is not None:
            self._world.sleep(None, lambda: not self._held)
        self._held = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._held = False


class Event:
    """Set once, waited for by others."""

    def __init__(self, world: Scheduler) -> None:
        self._world, self._set = world, False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        return self._world.sleep(timeout, self.is_set)


class Thread:
    """A strand of the process that makes it."""

    def __init__(self, world: Scheduler, target: Callable[[], Any]) -> None:
        self._world, self._target = world, target
        self._strand: Strand | None = None

    def start(self) -> None:
        maker = self._world.current
        if maker is None:
            raise RuntimeError("only a strand can start a thread")
        self._strand = self._world.spawn(maker.process, self._target)

    def join(self, timeout: float | None = None) -> None:
        if self._strand is not None:
            self._world.sleep(timeout, lambda: bool(self._strand and self._strand.run.dead))

    def is_alive(self) -> bool:
        return self._strand is not None and not self._strand.run.dead
