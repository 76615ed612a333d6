"""The identity of a process on a machine, and whether it still runs."""

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
    """A process, distinguished from earlier and later processes with the same number.

    Args:
        host: the machine's name.
        boot: the machine's boot id and the namespace of process numbers; None where the system does not have them.
        pid: the process number.
        started: its start, in clock ticks since the boot; None where the system does not have it.
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
        """Whether the process is known to have ended, which needs the same machine, boot and container.

        False means that it runs, or that this is not known here.
        """
        if self.started is None or self.boot is None or (self.host, self.boot) != (socket.gethostname(), _boot()):
            return False
        started = _started(self.pid)
        if started is not None:
            return started != self.started  # otherwise another process has the number now
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            return False  # a process of another user, hidden in /proc
        return _state(self.pid) in {"Z", "X"}


def _boot() -> str | None:
    """The boot id and the namespace of process numbers; two containers on a machine share only the boot id."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return None


def _started(pid: int) -> int | None:
    """The start of a running process; None if it does not run, is a zombie, or cannot be seen."""
    fields = _stat(pid)
    return int(fields[19]) if fields and fields[0] not in {"Z", "X"} else None


def _state(pid: int) -> str:
    return next(iter(_stat(pid)), "")


def _stat(pid: int) -> list[str]:
    """The fields of ``/proc/<pid>/stat`` after the program's name, which may contain spaces and brackets."""
    with contextlib.suppress(OSError):
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    return []
