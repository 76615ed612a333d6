"""What has to be true in a world, after every step: nothing lost, nothing double, nothing claimed that is not so.

The oracle looks at what stands in the state, with the readers that users have, and works out from the rows that were
offered what should stand there.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.errors import DataflowError, StateError
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, iso
from airflow_dataflow_provider.model.watermark_policies import BoundedDelay
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochRecord
from airflow_dataflow_provider.progress.log.split import Split
from airflow_dataflow_provider.progress.status.answer import Answer
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.reference.bounded_watermark import BoundedWatermark
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.tables.side_outputs import SideOutputs
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.simulate.disk import STALE
from tests.simulate.filesystem import PROTOCOL
from tests.simulate.rows import as_elements
from tests.simulate.script import Row
from tests.simulate.table import Table, table_of

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.interval import Interval
    from tests.simulate.disk import Stored
    from tests.simulate.driver import Driver
    from tests.simulate.world import World


class Wrong(AssertionError):  # noqa: N818 - what it says is what it is called
    """Something that must never be."""


@dataclass(slots=True)
class Replayed:
    """The epoch log up to an epoch, as the reference understands it.

    Attributes:
        interpreter: stands after the last epoch.
        panes: of each epoch.
        epochs: what stood in the log.
        read: the version of each file that was read, and the epoch.
        rejected: rows so far.
        table: what the panes add up to.
        bounded: the watermark that the elements allow, where it has a fixed bound.
        claimed: the watermark of the last epoch.
        data_at: the processing time of the last epoch with elements.
    """

    interpreter: Interpreter
    table: Table
    panes: list[list[Pane]] = field(default_factory=list)
    epochs: list[EpochRecord] = field(default_factory=list)
    read: dict[str, tuple[Split, int]] = field(default_factory=dict)
    rejected: int = 0
    compared: int = 0
    bounded: BoundedWatermark | None = None
    claimed: Micros = MIN_TIME
    data_at: Micros | None = None


class Oracle:
    """Knows all that was offered, and what follows from it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._versions: dict[tuple[str, int, int], tuple[Row, ...]] = {}
        self._since: dict[str, int] = {}
        self._clock = 0
        self._replayed = self._nothing()
        self._backup_is_damaged = False
        self.damaged = False
        """A part of a backup was restored: the engine may refuse the state, and must not be wrong about it."""

    def _nothing(self) -> Replayed:
        policy = self._world.pipeline.source.watermark
        bounded = BoundedWatermark(policy) if isinstance(policy, BoundedDelay) else None
        return Replayed(Interpreter(self._world.pipeline), Table(), bounded=bounded)

    # What happens to the world

    def offered(self, path: str, stored: Stored, rows: tuple[Row, ...]) -> None:
        """A version of a file appeared."""
        self._versions[path, len(stored.data), stored.modified] = rows

    def returned(self, path: str, stored: Stored) -> None:
        """It is back, maybe with another modification time."""
        same = next(
            rows
            for (name, size, _), rows in reversed(self._versions.items())
            if name == path and size == len(stored.data)
        )
        self._versions[path, len(stored.data), stored.modified] = same

    def backed_up(self) -> None:
        """A backup was made."""
        self._backup_is_damaged = self.damaged

    def restored(self, part: str) -> None:
        """A backup was put back."""
        self._replayed = self._nothing()
        self.damaged = bool(part) or self._backup_is_damaged

    # After every step

    def check(self) -> None:
        """Hold the state against what should be there.

        Raises:
            Wrong: it is not.
        """
        store = Store.open(self._world.url)
        try:
            records = list(EpochLog(store).records())
            self._replay(records)
            if len(self._replayed.panes) > self._replayed.compared:
                self._compare_panes()
        except DataflowError as error:
            if self.damaged and error.code.startswith("STATE_"):
                return
            raise Wrong(f"the state cannot be read: [{error.code}] {error}") from error

    def _replay(self, records: list[EpochRecord]) -> None:
        known = self._replayed
        if [_identity(record) for record in known.epochs] != [_identity(r) for r in records[: len(known.epochs)]]:
            raise Wrong("a committed epoch is not what it was")
        for record in records[len(known.epochs) :]:
            if known.epochs and record.epoch != known.epochs[-1].epoch + 1:
                raise Wrong(f"epoch {record.epoch} comes after epoch {known.epochs[-1].epoch}")
            if known.epochs and not self.damaged and record.token < known.epochs[-1].token:
                raise Wrong(f"claim {record.token} committed epoch {record.epoch} after claim {known.epochs[-1].token}")
            self._replay_one(record)

    def _replay_one(self, record: EpochRecord) -> None:
        known, log = self._replayed, EpochLog(Store.open(self._world.url))
        plan, prepared = log.planned(record.epoch), log.prepared(record.epoch)
        if record.kind == "abandoned":
            panes: list[Pane] = []
        elif plan is None or prepared is None or prepared.result is None:
            raise Wrong(f"epoch {record.epoch} is committed, and its plan or its result is not there")
        else:
            files = prepared.result.files
            if record.interval is None:
                planned = {split.path: split for split in plan.splits or ()}
                splits = [planned[file] for file in files]
                self._read_once(record, splits)
            else:
                splits = self._read_by(plan.run_id, files)
            elements, rejected = self._elements(splits, record.clock.processing_time)
            if record.interval is not None:
                panes = self._of_interval(record, record.interval, elements)
            else:
                known.rejected += rejected
                self._check_watermark(record, elements)
                horizon = record.published.at(100) if record.kind == "end_of_input" else record.clock.watermark
                panes = known.interpreter.epoch(Epoch(record.clock, elements, horizon))
            if record.interval is None and record.rows.read != len(elements) + rejected:
                there = len(elements) + rejected
                raise Wrong(f"epoch {record.epoch} has read {record.rows.read} rows, and its files have {there}")
            if record.rows.rejected != rejected:
                raise Wrong(f"epoch {record.epoch} counts {record.rows.rejected} rejected rows, there are {rejected}")
        known.epochs.append(record)
        known.panes.append(panes)
        known.table.add(panes, record)
        counts, totals = known.interpreter.counts, [r.rows for r in known.epochs if r.interval is None]
        came = (sum(r.late for r in totals), sum(r.expired for r in totals))
        if came != (counts.late, counts.expired):
            raise Wrong(f"up to epoch {record.epoch} {came} rows are late and expired, not {counts}")

    def _check_watermark(self, record: EpochRecord, elements: list[Element]) -> None:
        """A watermark with a fixed bound is the one of all elements before, no more and no less."""
        known, now, claimed = self._replayed, record.clock.processing_time, record.published.at(100)
        if known.bounded is None:
            return
        if {time for _, time in record.published} != {claimed}:
            raise Wrong(f"epoch {record.epoch}: a fixed bound has one watermark, not {record.published}")
        least = most = max(known.claimed, known.bounded.at())
        idle_after = known.bounded.policy.idle_after
        silence = 0 if known.data_at is None else now - known.data_at
        if idle_after is not None and silence >= idle_after:
            most = max(known.claimed, known.bounded.at(idle_for=silence))
        if known.epochs and known.epochs[-1].left_out is not None:
            least = most = known.claimed
        if not least <= claimed <= most:
            raise Wrong(f"epoch {record.epoch} claims {iso(claimed)}, not from {iso(least)} to {iso(most)}")
        known.claimed = claimed
        for element in elements:
            known.bounded.see(element, now)
        if record.kind == "data":
            known.data_at = now

    def _read_once(self, record: EpochRecord, splits: list[Split]) -> None:
        for split in splits:
            if split.path in self._replayed.read:
                earlier = self._replayed.read[split.path][1]
                raise Wrong(f"{split.path} was read by epoch {earlier} and again by epoch {record.epoch}")
            self._replayed.read[split.path] = split, record.epoch

    def _read_by(self, run_id: str, files: list[str]) -> list[Split]:
        """The versions of some files that a run has read: the log does not say them of an interval."""
        process = next(driver.process for driver in self._world.drivers if driver.start.driver == run_id)
        stored = {url: process.read[url.removeprefix(f"{PROTOCOL}://")] for url in files}
        return [Split(url, len(each.data), each.modified) for url, each in stored.items()]

    def _elements(self, splits: list[Split], now: Micros) -> tuple[list[Element], int]:
        rows = [row for split in splits for row in self._rows(split)]
        elements = as_elements(rows, now)
        return elements, len(rows) - len(elements)

    def _rows(self, split: Split) -> tuple[Row, ...]:
        version = (split.path.removeprefix(f"{PROTOCOL}://"), split.size, split.modified)
        if version not in self._versions:
            raise Wrong(f"{split} was read, and never offered")
        return self._versions[version]

    def _of_interval(self, record: EpochRecord, interval: Interval, elements: list[Element]) -> list[Pane]:
        # As a batch does: nothing is known until all of the input is there.
        before = replace(record.clock, watermarks=NOTHING_KNOWN, timers_until=MIN_TIME)
        interpreter = Interpreter(self._world.pipeline)
        panes = interpreter.epoch(Epoch(before, elements)) + interpreter.epoch(Epoch(record.clock, (), MIN_TIME))
        return [pane for pane in panes if interval.contains(pane.window.end)]

    def _compare_panes(self) -> None:
        known = self._replayed
        frame = PaneLogReader(self._world.url).panes()
        by_epoch = {int(str(key[0])): part for key, part in frame.group_by("epoch", maintain_order=True)}
        for record, wanted in list(zip(known.epochs, known.panes, strict=True))[known.compared :]:
            part = by_epoch.get(record.epoch)
            came = [] if part is None else panes_of(part, self._world.pipeline.grouping)
            try:
                assert_panes(came, wanted)
            except AssertionError as error:
                raise Wrong(f"epoch {record.epoch} ({record.kind}): {error}") from error
        known.compared = len(known.panes)

    # When something ends

    def check_run(self, driver: Driver) -> None:
        """A run ended well: it has read all that was there from its begin to its end, or says by name what it has not.

        Raises:
            Wrong: it has not.
        """
        if driver.streams or driver.start.interval is not None:
            return
        self.check()
        known = self._replayed
        left = known.epochs[-1].left_out if known.epochs else None
        named = {split.path for split in left.files} if left is not None else set()
        began = driver.began - (STALE if driver.process.saw_stale else 0)
        there = self._world.scheduler.source.before(began).files
        for path, stored in driver.there.items():
            url = f"{PROTOCOL}://{path}"
            if there.get(path) != stored:
                continue
            if self._world.scheduler.source.files.get(path) == stored and url not in known.read and url not in named:
                raise Wrong(f"{driver.start.driver} ended well, and {path} was there all the time and is not read")

    def check_gate(self, answer: Answer, target: Micros, percentile: float) -> None:
        """A sensor has an answer: what it claims was covered.

        Raises:
            Wrong: it was not.
        """
        if not answer.reached:
            return
        self.check()
        claims = [
            record.published.at(percentile) >= target
            or (record.kind == "end_of_input" and target <= record.clock.processing_time)
            for record in self._replayed.epochs
            if record.interval is None and record.kind != "abandoned"
        ]
        intervals = [record.interval for record in self._replayed.epochs if record.interval is not None]
        if not any(claims) and not any(each.contains(target) for each in intervals):
            raise Wrong(f"a gate was opened at {iso(target)}, and nothing has covered that: {answer.reason}")

    def check_end(self, last: Driver) -> None:
        """The last run, in a world without faults, has ended well, and all is where it belongs.

        Raises:
            Wrong: it is not.
        """
        error = last.process.error
        if isinstance(error, DataflowError):
            if self.damaged and error.code.startswith("STATE_"):
                return
            raise Wrong(f"nothing goes wrong any more, and the last run fails: [{error.code}] {error}") from error
        known = self._replayed
        for path in self._world.scheduler.source.files:
            if f"{PROTOCOL}://{path}" not in known.read:
                raise Wrong(f"{path} is never read")
        if not known.epochs:
            return
        self._replayed.compared = 0
        try:
            self._compare_panes()
            self._compare_side_outputs()
            self._compare_table()
        except StateError:
            if not self.damaged:
                raise

    def _compare_side_outputs(self) -> None:
        known, aside = self._replayed, SideOutputs(self._world.url)
        stream = [record.epoch for record in known.epochs if record.interval is None]
        rejected = aside.rejected()
        came = Counter(int(epoch) for epoch in rejected["_epoch"])
        if sum(came[epoch] for epoch in stream) != known.rejected:
            raise Wrong(f"{sum(came[epoch] for epoch in stream)} rejected rows are set aside, not {known.rejected}")
        expired: Counter[Any] = Counter()
        for row in aside.expired().iter_rows(named=True):
            expired[row["_event_time"], row["_window_end"], row["_is_retraction"]] += row["_epoch"] in stream
        if expired.total() != len(known.interpreter.expired):
            raise Wrong(f"{expired.total()} expired rows are set aside, not {len(known.interpreter.expired)}")

    def _compare_table(self) -> None:
        if self._replayed.table.is_known(self._world.pipeline):
            came = table_of(PaneLogReader(self._world.url).current(), self._world.pipeline)
            wanted = self._replayed.table.rows()
            if came != wanted:
                raise Wrong(f"the current table is {came}, not {wanted}")


def _identity(record: EpochRecord) -> tuple[Any, ...]:
    return record.epoch, record.kind, record.token, record.clock, record.rows, record.panes
