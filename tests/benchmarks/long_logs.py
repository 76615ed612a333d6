"""What a state that has lived for years costs those who look at it, and a driver that starts on it."""

from __future__ import annotations

import dataclasses
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochPlan, EpochRecord, Prepared
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from tests.progress.long_logs import make_log
from tests.spark.events import events, pipeline, write_files

_ROWS, _REPEATS = 200, 7
_SNAPSHOT_EVERY, _READ_SINCE = 16, 10
"""How far back a driver that starts has to read: to a whole copy of the delays, and of what was read."""


@dataclass(frozen=True, slots=True)
class LongLog:
    """What a state of so many epochs costs; ratios are to the shortest.

    Attributes:
        epochs: how many are committed.
        log_files: files below ``epochs``.
        log_bytes: their bytes.
        status_s: seconds of a look at it, as ``status`` and sensors take it.
        start_s: seconds of a run that finds nothing to read, without Spark: from its claim to its end.
        status_ratio, start_ratio: of these.
    """

    epochs: int
    log_files: int
    log_bytes: int
    status_s: float
    start_s: float
    status_ratio: float = 1
    start_ratio: float = 1


def measure_long_logs(folder: Path, lives: Sequence[int]) -> list[LongLog]:
    """Make a state of each age, look at it, and start a driver on it."""
    states = [make_state(folder, epochs) for epochs in lives]
    logs = [[path.stat().st_size for path in (state / "epochs").rglob("*") if path.is_file()] for state in states]
    looks = _seconds(states, lambda state: read_status(str(state)))
    starts = _seconds(states, lambda state: start_driver(folder, state))
    found: list[LongLog] = []
    for epochs, files, look, start in zip(lives, logs, looks, starts, strict=True):
        first = found[0] if found else None
        found.append(
            LongLog(
                epochs, len(files), sum(files), look, start,
                1 if first is None else round(look / first.status_s, 2),
                1 if first is None else round(start / first.start_s, 2),
            )
        )  # fmt: skip
    return found


def make_state(folder: Path, epochs: int) -> Path:
    """A state that has committed so many epochs: a real one of one epoch, whose log is made long."""
    source, state = folder / "source", folder / f"state-{epochs}"
    if not source.exists():
        write_files(source, events(_ROWS), files=1)
    start_driver(folder, state)
    store = Store.open(state)
    log = EpochLog(store)
    last = next(record for record in log.records() if record.kind == "data")
    planned, prepared = log.planned(last.epoch), log.prepared(last.epoch)
    assert planned is not None
    assert prepared is not None
    result = prepared.result
    assert result is not None

    def make(epoch: int) -> tuple[EpochPlan, Prepared, EpochRecord]:
        checkpoint = {
            **last.checkpoint,
            "delays": last.checkpoint["observed"] if epoch % _SNAPSHOT_EVERY == 0 else None,
            "read_splits": {"files": [], "rows": [], "through": epoch - _READ_SINCE},
        }
        return (
            dataclasses.replace(planned, epoch=epoch),
            dataclasses.replace(prepared, epoch=epoch, result=dataclasses.replace(result, checkpoint=checkpoint)),
            dataclasses.replace(last, epoch=epoch, checkpoint=checkpoint),
        )

    shutil.rmtree(state / "epochs")
    make_log(store, epochs, make)
    return state


def start_driver(folder: Path, state: Path) -> None:
    """A micro-batch without Spark."""
    conf = {"dataflow.state.partitions": "2"}
    run(Submission(what(folder), RuntimeMode.MICRO_BATCH, str(state), conf=conf, workers=ThisProcess()))


def what(folder: Path) -> Pipeline:
    """The pipeline whose state it is."""
    return pipeline(folder / "source")


def _seconds(states: Sequence[Path], action: Callable[[Path], object]) -> list[float]:
    """The least of several on each state, in turns: what else the machine does comes to all of them."""
    found: list[list[float]] = [[] for _ in states]
    for _ in range(1 + _REPEATS):
        for state, seconds in zip(states, found, strict=True):
            began = time.perf_counter()
            action(state)
            seconds.append(time.perf_counter() - began)
    return [min(seconds) for seconds in found]
