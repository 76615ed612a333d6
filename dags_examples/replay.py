"""Replays the flights of 2013 at any speed: files appear in the order in which the departures became known.

python -m dags_examples.replay --out DIR --from 2013-01-01T00:00Z --to 2013-01-03T00:00Z --file-minutes 15 --speed 3600
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from airflow_dataflow_provider.model.errors import DataflowError, DefinitionError, StateError
from airflow_dataflow_provider.model.time import Micros, iso, to_micros
from dags_examples.data import load_flights

_MINUTE: Micros = 60_000_000
_LAYOUT = "_replay.json"


@dataclass(frozen=True)
class Replay:
    """The departures *scheduled* in ``[start, end)``, as Parquet files by the time at which they *left*.

    One file holds the departures of ``file_minutes`` minutes of arrival time, in that order, and is named after the end
    of those minutes: the moment at which a reader of the real world could have had it. Minutes in which nothing
    left have no file. Cancelled flights are in none.

    Guarantees:
        A file is there whole or not at all; names and modification times sort by arrival; the same replay always
        gives the same files, so one that was interrupted goes on where it stopped, and a second one beside it changes
        nothing.

    Attributes:
        out: the folder, made if missing. It belongs to one replay: another span or file length is refused.
        start: the first scheduled time.
        end: the scheduled time before which the replay ends.
        file_minutes: how many minutes of arrivals a file holds.
    """

    out: Path
    start: Micros
    end: Micros
    file_minutes: int = 15

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise DefinitionError(
                f"the replay ends at {iso(self.end)}, not after its start {iso(self.start)}",
                hint="give --to a later time than --from",
                code="TIME_EMPTY_SPAN",
            )
        if self.file_minutes < 1:
            raise DefinitionError(
                f"file_minutes={self.file_minutes!r} is no length for a file",
                hint="give a whole number of minutes, 1 or more",
                code="TIME_BAD_DURATION",
            )
        self._take_folder()

    @cached_property
    def files(self) -> dict[Micros, pl.DataFrame]:
        """The content of every file, by the end of its minutes, in the order of arrival."""
        step = self.file_minutes * _MINUTE
        in_span = pl.col("scheduled").dt.epoch("us").is_between(self.start, self.end, closed="left")
        departures = (
            load_flights()
            .filter(in_span, pl.col("departed").is_not_null())
            .sort("departed", maintain_order=True)
            .with_columns(_end=(pl.col("departed").dt.epoch("us") // step + 1) * step)
        )
        parts = departures.partition_by("_end", as_dict=True, include_key=False, maintain_order=True)
        return {end: rows for (end,), rows in parts.items()}

    def path(self, end: Micros) -> Path:
        """The path of the file of the minutes before ``end``."""
        return self.out / f"departures-{iso(end).replace('-', '').replace(':', '')}.parquet"

    def write_until(self, arrival_time: Micros | dt.datetime | str) -> list[Path]:
        """Write every file that is complete at this arrival time and not there yet.

        Returns:
            The new files, in the order of arrival.
        """
        until = arrival_time if isinstance(arrival_time, int) else to_micros(arrival_time)
        return [path for end in self.files if end <= until and (path := self._write(end))]

    def run(
        self,
        speed: float | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Iterator[Path]:
        """Write the files one by one, each when its time has come, and yield it.

        Args:
            speed: seconds of arrival time per second of the clock; None for as fast as it goes.
            clock: seconds, from anywhere.
            sleep: how to wait for a number of those seconds.
        """
        left = [end for end in self.files if not self.path(end).exists()]
        if not left:
            return
        # What is there already has been waited for: go on from the minutes before the first file that is missing.
        origin, started = left[0] - self.file_minutes * _MINUTE, clock()
        for end in left:
            if speed is not None:
                wait = (end - origin) / 1_000_000 / speed - (clock() - started)
                if wait > 0:
                    sleep(wait)
            if path := self._write(end):
                yield path

    def _write(self, end: Micros) -> Path | None:
        path = self.path(end)
        if path.exists():
            return None
        # Neither a reader's "*.parquet" nor Spark's listing, which skips dots, sees the file before it is whole.
        unfinished = path.with_name(f".{path.stem}.{os.getpid()}.part")
        self.files[end].write_parquet(unfinished)
        # Spark takes files in the order of their modification time, and knows it only to the millisecond: files that
        # are written in a burst would change places. So each has the time at which the world would have written it.
        os.utime(unfinished, ns=(end * 1_000, end * 1_000))
        unfinished.replace(path)
        return path

    def _take_folder(self) -> None:
        mine = {"from": iso(self.start), "to": iso(self.end), "file_minutes": self.file_minutes}
        self.out.mkdir(parents=True, exist_ok=True)
        layout = self.out / _LAYOUT
        unfinished = layout.with_name(f".{_LAYOUT}.{os.getpid()}.part")
        unfinished.write_text(json.dumps(mine) + "\n", encoding="utf-8")
        try:
            layout.hardlink_to(unfinished)
        except FileExistsError:
            theirs = json.loads(layout.read_text(encoding="utf-8"))
            if theirs != mine:
                raise StateError(
                    f"{self.out} holds another replay: {theirs}, not {mine}",
                    reason="their files would hold the same departures twice",
                    hint="give another folder, or empty this one",
                    code="STATE_OTHER_REPLAY",
                ) from None
        finally:
            unfinished.unlink()


def _speed(text: str) -> float | None:
    if text == "max":
        return None
    speed = float(text)
    if not 0 < speed < float("inf"):
        raise ValueError(text)
    return speed


def main(arguments: list[str] | None = None) -> int:
    """The command line: one line on the screen for each file."""
    parser = argparse.ArgumentParser(prog="python -m dags_examples.replay", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder of the files")
    parser.add_argument("--from", dest="start", required=True, help="first scheduled time, ISO 8601 with an offset")
    parser.add_argument("--to", dest="end", required=True, help="scheduled time at which to end, not included")
    parser.add_argument("--file-minutes", type=int, default=15, help="minutes of arrivals in a file (15)")
    parser.add_argument("--speed", type=_speed, default="max", help="arrival seconds per second, or max (max)")
    given = parser.parse_args(arguments)
    try:
        start, end = to_micros(given.start, what="--from"), to_micros(given.end, what="--to")
        replay = Replay(given.out, start, end, given.file_minutes)
        for path in replay.run(given.speed):
            print(path, flush=True)
    except DataflowError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
