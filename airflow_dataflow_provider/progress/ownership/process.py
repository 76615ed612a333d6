"""Which process of which machine, and whether it still runs."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process, told apart from every other that had or will have its number.

    Args:
        host: the machine's name.
        boot: the start of that machine and the space of process numbers on it; None where the system does not tell.
        pid: the process number.
        started: when it started, in clock ticks since the boot; None where the system does not tell.
    """

    host: str
    boot: str | None
    pid: int
    started: int | None

    @classmethod
    def current(cls) -> Process:
        pid = os.getpid()
        return cls(socket.gethostname(), _boot(), pid, _started(pid))

    def interrupt(self) -> bool:
        """Ask the process to end (SIGTERM), if it runs on this machine; whether it was asked."""
        if self.started is None or self.boot is None or (self.host, self.boot) != (socket.gethostname(), _boot()):
            return False
        if _started(self.pid) != self.started:
            return False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(self.pid, signal.SIGTERM)
            return True
        return False

    def is_gone(self) -> bool:
        """True only if it surely runs no more: seen from the same machine, boot and container, it is not there.

        False means that it runs, or that it cannot be told from here.
        """
        if self.started is None or self.boot is None or (self.host, self.boot) != (socket.gethostname(), _boot()):
            return False
        started = _started(self.pid)
        if started is not None:
            return started != self.started  # the number was given to another since
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False  # another user's, hidden from our view of /proc
        return _state(self.pid) in {"Z", "X"}


def _boot() -> str | None:
    """The boot, and the container's own numbering of processes: two containers share the first, not the second."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return None


def _started(pid: int) -> int | None:
    """The start of a process that runs; None if it does not, has ended unreaped, or cannot be seen."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] not in {"Z", "X"} else None


def _state(pid: int) -> str:
    return next(iter(_stat(pid)), "")


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/<pid>/stat`` after the program's name, which may itself hold spaces and brackets."""
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return []
