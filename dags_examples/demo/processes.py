"""Every process that the demo starts carries a mark in its environment, and so does whatever that one starts.

Drivers live in sessions of their own on purpose, so neither a process group nor a tree holds them all; the mark does.
"""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

_VARIABLE = "DATAFLOW_DEMO"
GRACE_SECONDS = 5.0
"""Between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True)
class Marked:
    """The processes of one demo.

    Attributes:
        mark: unique to this demo.
    """

    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def environment(self) -> dict[str, str]:
        """What to add to the environment of what is started."""
        return {_VARIABLE: self.mark}

    def living(self) -> list[psutil.Process]:
        """Those that live now, without this process itself."""
        found = []
        for process in psutil.process_iter():
            # Other users' processes do not let themselves be asked, and some end meanwhile.
            with suppress(psutil.Error):
                ours = process.pid != os.getpid() and process.environ().get(_VARIABLE) == self.mark
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def end(self, *, patience: float) -> list[str]:
        """Wait until all of them have ended, and end those that have not after ``patience`` seconds.

        Returns:
            The command lines of those that had to be ended.
        """
        _, left = psutil.wait_procs(self.living(), timeout=patience)
        stubborn = self.living() if left else []
        commands = []
        for process in stubborn:
            with suppress(psutil.Error):
                commands.append(f"{' '.join(Path(word).name for word in process.cmdline())[:60]} ({process.pid})")
                process.terminate()
        psutil.wait_procs(stubborn, timeout=GRACE_SECONDS)
        while still := self.living():
            for process in still:
                with suppress(psutil.Error):
                    process.kill()
            psutil.wait_procs(still, timeout=5)
        return commands
