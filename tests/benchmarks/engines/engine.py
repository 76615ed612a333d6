"""What an engine of the benchmark does."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Literal

from tests.benchmarks.check import Answer
from tests.benchmarks.generate import Events
from tests.benchmarks.queries import Query

MASTER = "local[2]"
CORES = 2


class Engine(ABC):
    """Runs queries over events. Its calls are made in one process, each with a fresh folder of its own run.

    Attributes:
        name: as in the table.
        side: ours is set against the baselines of the same mode; floors know nothing of streams.
        mode: ``micro-batch`` or ``batch``.
        place: engines with the same place share a process and what is warm in it.
    """

    name: str
    side: Literal["ours", "baseline", "floor"]
    mode: Literal["micro-batch", "batch"]
    place: str

    def answers(self, query: Query) -> bool:  # noqa: ARG002
        """Whether it is asked this query."""
        return True

    def prepare(self, query: Query, events: Events, folder: Path) -> str:  # noqa: ARG002
        """Before everything else, as long as it takes: find the best settings; what to tell of them."""
        return ""

    def rehearse(self, query: Query, events: Events, folder: Path) -> Answer | None:
        """Before the timed runs all of it once, so that everybody is as warm as the others.

        Returns:
            What they will compute, where they cannot show it themselves.
        """
        self.run(query, events, folder)
        return None

    @abstractmethod
    def run(self, query: Query, events: Events, folder: Path) -> None:
        """What is timed."""

    def answer(self, query: Query, events: Events, folder: Path) -> Answer | None:  # noqa: ARG002
        """After a timed run: what it has computed."""
        return None
