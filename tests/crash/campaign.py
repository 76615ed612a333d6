"""Kill -9 of the driver at random moments, in every mode: what is published in the end is right, pane for pane.

Run it with ``make crash``. Every kill hits the driver's Python process alone; its JVM is left to notice by itself, so
for a moment a driver that is already replaced is still at work. The moments are random within the run, most of them
while an epoch is between its plan and its commit.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.time import from_iso, iso
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from airflow_dataflow_provider.testing.audit import panes_of_reference
from airflow_dataflow_provider.testing.frames import panes_of
from airflow_dataflow_provider.testing.panes import assert_panes
from tests.crash.pipelines import minutes
from tests.spark.events import as_truth, events, truth, write_files

_WHEN = ("processing_time",)
"""What a later run cannot repeat: when, by the wall clock, a pane was fired."""


CONF = {"dataflow.state.partitions": "3"}
EVER = Interval(from_iso("2000-01-01T00:00:00Z"), from_iso("2100-01-01T00:00:00Z"))
"""An interval in which every window ends."""
MODES = {
    "micro-batch": ("--mode", "micro-batch"),
    "streaming": ("--mode", "streaming"),
    "batch": ("--mode", "batch"),
    "interval": ("--mode", "batch", "--from", iso(EVER.start), "--to", iso(EVER.end)),
}
"""Each mode as the command line takes it."""


@dataclass
class Campaign:
    """One source and one state, whose drivers are killed.

    Args:
        folder: where all of it lies.
        mode: one of :data:`MODES`.
        files: files of the source, each an epoch in micro-batches and streams.
        rows: events in all of them.
        seed: of the moments.
        in_this_process: what is not to be killed runs here, without Spark.
    """

    folder: Path
    mode: str
    files: int
    rows: int
    seed: int
    in_this_process: bool = False
    kills: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.source, self.state = self.folder / "source", self.folder / "disturbed"
        self.frame = events(self.rows, seed=self.seed)
        write_files(self.source, self.frame, files=self.files)
        self.pipeline = minutes(self.source)

    def drive(self, state: Path, mode: str) -> subprocess.Popen[str]:
        """Start a driver."""
        command = [
            sys.executable, "-m", "airflow_dataflow_provider", "run", "tests.crash.pipelines:killed", *MODES[mode],
            "--state", str(state), "--master", "local[2]", "--conf", "spark.ui.enabled=false",
            *(f"--conf={name}={value}" for name, value in CONF.items()),
        ]  # fmt: skip
        environment = os.environ | {"CRASH_SOURCE": str(self.source)}
        root = Path(__file__).parents[2]
        return subprocess.Popen(
            command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def disturb(self, kills: int) -> None:
        """Kill a driver so many times, then let one run to the end of its input."""
        while len(self.kills) < kills:
            driver = self.drive(self.state, self.mode)
            planned = self.planned()
            # Into the run: a few epochs on, and then anywhere within one.
            target = planned + (self.random.randint(0, 3) if self.mode in {"micro-batch", "streaming"} else 0)
            while driver.poll() is None and self.planned() <= target:
                time.sleep(0.005)
            time.sleep(self.random.uniform(0, 0.5))
            if driver.poll() is None:
                driver.send_signal(signal.SIGKILL)
                self.kills.append(self._where())
            elif driver.returncode:
                raise AssertionError(f"the driver failed by itself:\n{driver.stdout.read()}")  # type: ignore[union-attr]
            else:
                self._more_input()  # it was faster than the kill
            driver.wait()
            driver.stdout.close()  # type: ignore[union-attr]
        if self.mode == "interval":
            self._finish(self.state, "interval")
        else:
            self._finish(self.state, "micro-batch")

    def compare(self) -> int:
        """The number of panes, once they are right.

        Raises:
            AssertionError: with what differs.
        """
        if self.mode == "micro-batch":
            self._compare_with_undisturbed()
        if self.mode != "interval":
            self._finish(self.state, "batch")
        log = PaneLogReader(str(self.state))
        assert as_truth(log.current()).equals(truth(self.frame)), "the table is not that of one batch over all rows"
        panes = log.panes()
        if self.mode != "interval":
            assert_panes(panes_of(panes, self.pipeline.grouping), panes_of_reference(str(self.state), self.pipeline))
        return len(panes)

    def _compare_with_undisturbed(self) -> None:
        self._finish(self.folder / "undisturbed", self.mode)
        wanted, got = (PaneLogReader(str(self.folder / state)).panes() for state in ("undisturbed", "disturbed"))
        wanted, got = (
            frame.drop(_WHEN).sort("epoch", "window_start", "key", "pane_is_retraction") for frame in (wanted, got)
        )
        if not got.equals(wanted):
            missing = wanted.join(got, on=wanted.columns, how="anti", nulls_equal=True)
            surplus = got.join(wanted, on=wanted.columns, how="anti", nulls_equal=True)
            raise AssertionError(
                f"{len(missing)} panes are missing:\n{missing}\n{len(surplus)} are surplus:\n{surplus}"
            )

    def _more_input(self) -> None:
        more = events(self.rows, seed=self.seed + self.files)
        write_files(self.source, more, files=self.files, first=len(list(self.source.iterdir())))
        self.frame = pl.concat([self.frame, more])

    def _finish(self, state: Path, mode: str) -> None:
        if self.in_this_process:
            interval = EVER if mode == "interval" else None
            how = RuntimeMode.BATCH if interval else RuntimeMode(mode)
            run(Submission(self.pipeline, how, str(state), interval, conf=CONF, workers=ThisProcess()))
            return
        driver = self.drive(state, mode)
        said, _ = driver.communicate()
        assert driver.returncode == 0, said

    def _log(self) -> EpochLog:
        return EpochLog(Store.open(str(self.state)))

    def planned(self) -> int:
        """The number of epochs that are planned."""
        last = self._log().last_record()
        committed = 0 if last is None else last.epoch + 1
        return committed + (self._log().planned(committed) is not None)

    def _where(self) -> str:
        """Where the epoch at hand stood when its driver died."""
        opened = self._log().open_plan()
        if opened is None:
            return "between two epochs"
        prepared = self._log().prepared(opened.epoch) is not None
        return f"epoch {opened.epoch} was {'prepared' if prepared else 'planned'}"


def main() -> int:
    """The campaign, with what happened on the screen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=10, help="in each mode")
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10_000)
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES))
    options = parser.parse_args()
    for mode in options.modes:
        with tempfile.TemporaryDirectory(prefix="crash-") as name:
            campaign = Campaign(Path(name), mode, options.files, options.rows, options.seed)
            print(f"{mode}, seed {options.seed}", flush=True)
            campaign.disturb(options.kills)
            for number, where in enumerate(campaign.kills, 1):
                print(f"  kill {number:>2}: {where}")
            print(f"  {campaign.compare():,} panes after {options.kills} kills: right", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
