"""Kill -9 of the driver at random moments: what is published in the end equals the undisturbed run, pane for pane.

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

from airflow_dataflow_provider.progress.log import EpochLog
from airflow_dataflow_provider.progress.store import Store
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.events import events, write_files

_WHEN = ("processing_time",)
"""What a later run cannot repeat: when, by the wall clock, a pane was fired."""


@dataclass
class Campaign:
    """One source, one undisturbed state, one that is disturbed.

    Args:
        folder: where all of it lies.
        files: files of the source, each an epoch.
        rows: events in all of them.
        seed: of the moments.
    """

    folder: Path
    files: int
    rows: int
    seed: int
    kills: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        write_files(self.folder / "source", events(self.rows, seed=self.seed), files=self.files)

    def drive(self, state: str) -> subprocess.Popen[str]:
        """Start a driver."""
        command = [
            sys.executable, "-m", "airflow_dataflow_provider", "run", "tests.crash.pipelines:minutes", "--mode",
            "micro-batch", "--state", str(self.folder / state), "--master", "local[2]", "--conf",
            "spark.ui.enabled=false", "--conf", "dataflow.state.partitions=3",
        ]  # fmt: skip
        environment = os.environ | {"CRASH_SOURCE": str(self.folder / "source")}
        root = Path(__file__).parents[2]
        return subprocess.Popen(
            command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def undisturbed(self) -> None:
        """Run to the end."""
        self._finish("undisturbed")

    def disturb(self, kills: int) -> None:
        """Kill a driver so many times, then let one run to the end."""
        while len(self.kills) < kills:
            driver = self.drive("disturbed")
            planned = self._planned()
            # Into the run: a few epochs on, and then anywhere within one.
            target = planned + self.random.randint(0, 3)
            while driver.poll() is None and self._planned() <= target:
                time.sleep(0.005)
            time.sleep(self.random.uniform(0, 0.5))
            if driver.poll() is not None:
                raise AssertionError(f"the driver ended before it was killed:\n{driver.stdout.read()}")  # type: ignore[union-attr]
            driver.send_signal(signal.SIGKILL)
            driver.wait()
            driver.stdout.close()  # type: ignore[union-attr]
            self.kills.append(self._where())
        self._finish("disturbed")

    def compare(self) -> int:
        """The number of panes, once both logs are equal.

        Raises:
            AssertionError: with what differs.
        """
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
        counted = wanted.group_by("key", "window_start").agg(pl.col("count").last())["count"].sum()
        assert 0 < counted <= self.rows
        return len(wanted)

    def _finish(self, state: str) -> None:
        driver = self.drive(state)
        said, _ = driver.communicate()
        assert driver.returncode == 0, said

    def _log(self) -> EpochLog:
        return EpochLog(Store.open(str(self.folder / "disturbed")))

    def _planned(self) -> int:
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
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="crash-") as name:
        campaign = Campaign(Path(name), options.files, options.rows, options.seed)
        print(f"seed {options.seed}: the undisturbed run", flush=True)
        campaign.undisturbed()
        campaign.disturb(options.kills)
        for number, where in enumerate(campaign.kills, 1):
            print(f"kill {number:>2}: {where}")
        print(f"{campaign.compare():,} panes after {options.kills} kills: equal to the undisturbed run's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
