"""Mistakes that the engine once made, or could make, put back into it: a search that does not find them is too weak.

``python -m tests.simulate.mutants`` says how many worlds each takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.coverage import Coverage
from airflow_dataflow_provider.spark.running.epochs import Epochs
from airflow_dataflow_provider.spark.running.runner import Runner
from airflow_dataflow_provider.spark.sources.listing import SourceListing
from tests.simulate.disk_store import DiskStore
from tests.simulate.drawing import draw
from tests.simulate.script import Script
from tests.simulate.search import be_quiet
from tests.simulate.world import play

if TYPE_CHECKING:
    from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
    from airflow_dataflow_provider.progress.log.records import EpochPlan
    from airflow_dataflow_provider.progress.log.split import Split
    from airflow_dataflow_provider.spark.sources.splits import Input

Mutant = Callable[[], AbstractContextManager[None]]


@contextmanager
def a_second_ledger_says_what_was_listed() -> Iterator[None]:
    """A file that was listed is not listed again, whatever became of the epoch that was to read it."""
    real = Runner._unread

    def unread(self: Runner) -> list[Split]:
        store, found = self._run.store, real(self)
        known = set(store.read_json("listed.json")["paths"]) if store.exists("listed.json") else set()
        left = self._epochs.left_out
        again = {split.path for split in left.files} if left is not None else set()
        new = [split for split in found if split.path not in known or split.path in again]
        store.write_json("listed.json", {"paths": sorted({*known, *(split.path for split in found)})})
        return new

    with patch.object(Runner, "_unread", unread):
        yield


@contextmanager
def what_is_away_counts_as_read() -> Iterator[None]:
    """A file that was planned, and is away when its epoch runs, is passed over for ever."""
    real = Epochs._execute

    def execute(self: Epochs, plan: EpochPlan, files: Input | None) -> EpochResult:
        result = real(self, plan, files)
        if plan.splits:
            result = replace(result, files=tuple(sorted(split.path for split in plan.splits)), left_out=None)
        return result

    with patch.object(Epochs, "_execute", execute):
        yield


@contextmanager
def an_interval_that_died_stays_open() -> Iterator[None]:
    """The plan of an interval that had no result is waited for, and nobody finishes it."""

    def abandon(self: Epochs, plan: EpochPlan) -> None:
        raise StateError(f"epoch {plan.epoch} is open", code="STATE_EPOCH_OPEN")

    with patch.object(Epochs, "_abandon", abandon):
        yield


@contextmanager
def the_greatest_end_covers_all_before_it() -> Iterator[None]:
    """What is covered is everything up to the end of the latest interval."""

    def covers(self: Coverage, end: int, *, start: int | None = None) -> bool:
        return any(end <= each.end for each in self.intervals)

    with patch.object(Coverage, "covers", covers):
        yield


@contextmanager
def a_stop_looks_only_at_who_lives() -> Iterator[None]:
    """A stop that sees no living driver is content, though one is starting, or asleep."""
    from airflow_dataflow_provider.operators.stop import DataflowStopOperator

    def once_claimed(self: Any, url: str, deadline: float) -> Any:
        return self.hook.status(url)

    with (
        patch.object(DataflowStopOperator, "_once_claimed", once_claimed),
        patch.object(DataflowStopOperator, "_fence", lambda *_: False),
    ):
        yield


@contextmanager
def names_of_data_files_are_not_synced() -> Iterator[None]:
    """What an epoch's documents name may be gone after a power cut."""
    with patch.object(DiskStore, "sync", lambda *_: None):
        yield


@contextmanager
def older_files_than_the_newest_are_passed_over() -> Iterator[None]:
    """Only files that are newer than all that were read are listed."""
    real = SourceListing.unread

    def unread(self: SourceListing, read: Any) -> list[Split]:
        newest = max((modified for names in read._folders.values() for _, modified in names.values()), default=0)
        return [split for split in real(self, read) if split.modified >= newest]

    with patch.object(SourceListing, "unread", unread):
        yield


MUTANTS: tuple[Mutant, ...] = (
    a_second_ledger_says_what_was_listed,
    what_is_away_counts_as_read,
    an_interval_that_died_stays_open,
    the_greatest_end_covers_all_before_it,
    a_stop_looks_only_at_who_lives,
    names_of_data_files_are_not_synced,
    older_files_than_the_newest_are_passed_over,
)


def worlds_needed(mutant: Mutant, first: int, most: int) -> tuple[int, Script, str] | None:
    """How many worlds it takes to find a mutant, the script that shows it, and what is wrong there.

    Args:
        mutant: what is put back.
        first: the number of the first world.
        most: None if so many worlds do not find it.
    """
    for number in range(most):
        script = draw(first + number)
        with mutant():
            failure = play(script).failure
        if failure is not None and play(script).failure is None:
            return number + 1, script, failure
    return None


def main() -> None:
    """Say how many worlds each mutant takes."""
    be_quiet()
    for mutant in MUTANTS:
        found = worlds_needed(mutant, 0, 2_000)
        if found is None:
            print(f"{mutant.__name__}: not found")
        else:
            print(f"{mutant.__name__}: {found[0]} worlds: {found[2].splitlines()[0]}", flush=True)


if __name__ == "__main__":
    main()
