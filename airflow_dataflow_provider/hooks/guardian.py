"""Runs one driver, and outlives the task that started it.

It is run by path, in its own process, and imports only the standard library::

    python -IS guardian.py LOCK_FD FOLDER GRACE_SECONDS COMMAND...

Guarantees:
    * It holds the lock of ``FOLDER`` as long as the driver runs. The kernel releases the lock, even after a crash.
    * The exit status of the driver is in ``FOLDER/exit.json`` before the lock is free.
    * After SIGTERM the driver has ``GRACE_SECONDS`` to end by itself. Then all its processes get SIGTERM, and 5 seconds
      later SIGKILL. A task could not do this: Airflow kills it 5 seconds after its own SIGTERM.
    * When the driver has ended, all processes that it started on this machine are ended too (the JVM, Python workers),
      in every process group. A process that has started its own session is not found.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

KILL_AFTER = 5.0
"""Seconds between SIGTERM and SIGKILL."""
NOT_STARTED = 127
"""The exit status that shells use for a command that cannot be started."""


def _write(path: Path, document: dict[str, object]) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document), encoding="utf-8")
    temporary.replace(path)


def _forget_secrets(folder: Path) -> None:
    (folder / "spark.properties").unlink(missing_ok=True)


def _rest_of_session() -> list[int]:
    """Every other process of this session: children that changed their process group stay in it."""
    mine, found = os.getpid(), []
    for pid in (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()):
        with suppress(ProcessLookupError, PermissionError):
            if pid != mine and os.getsid(pid) == mine:
                found.append(pid)
    return found


def _signal_driver(group: int, number: signal.Signals) -> None:
    """Signal the driver and all that it started."""
    if not Path("/proc/self").exists():
        # There is no /proc (macOS): only the driver's process group can be signalled.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
        return
    for pid in _rest_of_session():
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _guard(folder: Path, grace: float, command: list[str], told_to_end: threading.Event) -> None:
    try:
        driver = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)
    except OSError as error:
        sys.stderr.write(f"cannot start the driver: {error}\n")
        _forget_secrets(folder)
        _write(folder / "exit.json", {"code": NOT_STARTED, "ended_at": time.time(), "told_to_end": False})
        return

    def end_when_told() -> None:
        told_to_end.wait()
        time.sleep(grace)
        _signal_driver(driver.pid, signal.SIGTERM)
        time.sleep(KILL_AFTER)
        _signal_driver(driver.pid, signal.SIGKILL)

    threading.Thread(target=end_when_told, daemon=True).start()
    code = driver.wait()
    _signal_driver(driver.pid, signal.SIGKILL)
    _forget_secrets(folder)
    _write(folder / "exit.json", {"code": code, "ended_at": time.time(), "told_to_end": told_to_end.is_set()})


def main(lock: int, folder: Path, grace: float, command: list[str]) -> None:
    """Fork, leave the caller's session, and run the driver."""
    os.set_inheritable(lock, False)
    # Set up before guardian.json exists, so that no SIGTERM is lost while the driver starts.
    told_to_end = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: told_to_end.set())
    if pid := os.fork():
        # Written before the caller continues: every process that finds the lock held also finds this file.
        _write(folder / "guardian.json", {"pid": pid})
        return
    os.setsid()
    _guard(folder, grace, command, told_to_end)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
