"""Stands in for the engine behind ``spark-submit``: the command line and the progress of a driver, without Spark.

Run as ``python standin.py FOLDER SPARK-SUBMIT-ARGUMENTS...``; ``FOLDER/behaviour`` says what it does.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from airflow_dataflow_provider.cli.failures import tell
from airflow_dataflow_provider.cli.run import add_policies_to
from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.errors import DataError, DataflowError, InterruptedRunError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.model.watermarks import END_OF_INPUT, WatermarkCurve
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.records import EpochPlan, EpochRecord
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.ownership import error_file, identity
from airflow_dataflow_provider.progress.ownership.owner import Heart, Ownership
from airflow_dataflow_provider.progress.requests.requests import pending
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock

FOLDER = Path(sys.argv[1])


def behaviour() -> str:
    return (FOLDER / "behaviour").read_text()


def parse() -> argparse.Namespace:
    arguments = sys.argv[2:]
    application = next(i for i, argument in enumerate(arguments) if argument.endswith("__main__.py"))
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["run"])
    parser.add_argument("pipeline")
    parser.add_argument("--mode", required=True)
    parser.add_argument("--state", required=True)
    parser.add_argument("--run-id", required=True)
    parser.add_argument("--from", dest="start")
    parser.add_argument("--to", dest="end")
    parser.add_argument("--take-over", action="store_true")
    add_policies_to(parser)
    return parser.parse_args(arguments[application + 1 :])


def load(pipeline: str) -> Any:
    module, _, attribute = pipeline.rpartition(":")
    if not module.endswith(".py"):
        return getattr(importlib.import_module(module), attribute)
    spec = importlib.util.spec_from_file_location("pipeline_file", module)
    assert spec
    assert spec.loader
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return getattr(loaded, attribute)


def commit(
    store: Store, ownership: Ownership, asked: argparse.Namespace, *, watermark: str = "2026-01-01T00:00:00Z"
) -> None:
    log, now = EpochLog(store), wall_clock()
    last = log.last_record()
    interval = Interval(to_micros(asked.start), to_micros(asked.end)) if asked.start else None
    whole = asked.mode == "batch"
    clock = Clock(now, END_OF_INPUT if whole else WatermarkCurve.flat(to_micros(watermark)))
    plan = EpochPlan(
        epoch=0 if last is None else last.epoch + 1,
        kind="interval" if interval else "end_of_input" if whole else "data",
        token=ownership.token,
        run_id=asked.run_id,
        mode=asked.mode,
        clock=clock,
        planned_at=now,
        interval=interval,
    )
    log.plan(plan)
    log.commit(
        EpochRecord(
            epoch=plan.epoch,
            kind=plan.kind,
            mode=plan.mode,
            run_id=plan.run_id,
            token=plan.token,
            clock=clock,
            published=clock.watermarks,
            end_of_input=whole,
            rows=RowCounts(read=7, late=1),
            panes=3,
            frontier=None,
            backlog=None,
            interval=interval,
            started_at=now,
            finished_at=now,
        )
    )


def drive(asked: argparse.Namespace) -> None:
    while behaviour() == "dawdle":  # started, and nobody's owner yet
        time.sleep(0.02)
    stopping = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopping.set())
    pipeline = load(asked.pipeline)
    store = Store.open(asked.state)
    identity.ensure(
        store,
        name=pipeline.name,
        fingerprint=pipeline.fingerprint(),
        definition=repr(pipeline),
        shape=pipeline.shape(),
        partitions=2,
        now=wall_clock(),
    )
    ownership = Ownership.claim(
        store, mode=asked.mode, run_id=asked.run_id, now=wall_clock(), take_over=asked.take_over
    )
    try:
        with Heart(ownership):
            run(asked, store, ownership, stopping)
    except BaseException as error:
        ownership.release(wall_clock(), "failed", error)
        raise
    ownership.release(wall_clock())
    print("driven to the end", flush=True)
    while (FOLDER / "linger").exists():  # as Spark does, which takes its time to end
        time.sleep(0.02)


def run(asked: argparse.Namespace, store: Store, ownership: Ownership, stopping: threading.Event) -> None:
    print(f"driving {asked.pipeline}", flush=True)
    if asked.mode == "streaming":
        commit(store, ownership, asked)
    ownership.heartbeat(wall_clock(), "running")
    asked_to_stop = False
    # As deaf as the engine: only a stream looks for requests; SIGTERM is heard between two epochs.
    while behaviour() == "deaf" or (behaviour() == "wait" and not asked_to_stop and not stopping.is_set()):
        time.sleep(0.05)
        ownership.check()
        if (FOLDER / "advance").exists():
            (FOLDER / "advance").unlink()
            commit(store, ownership, asked, watermark="2026-01-01T02:00:00Z")
        asked_to_stop = asked.mode == "streaming" and any(
            request.kind in {"stop", "drain"} for request in pending(store, token=ownership.token)
        )
    if behaviour() == "fail":
        raise DataError("too many rows were rejected", code="DATA_REJECTS")
    if stopping.is_set() and asked.mode != "streaming":
        raise InterruptedRunError("the run was interrupted", code="RUN_INTERRUPTED")
    if behaviour() != "leave":
        commit(store, ownership, asked)


def hang() -> None:
    """Ends on nothing but SIGKILL, and so does what it started, in a process group of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sleeper = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-c", sleeper], process_group=0)
    (FOLDER / "child").write_text(str(child.pid))
    child.wait()


def main() -> None:
    asked = parse()
    start = {"pid": os.getpid(), "argv": sys.argv[2:], "env": dict(os.environ), "prefix": sys.prefix}
    # What only spark-submit reads, and nobody sees in a list of processes.
    at = sys.argv.index("--properties-file") if "--properties-file" in sys.argv else None
    start["properties"] = Path(sys.argv[at + 1]).read_text() if at else ""
    start["airflow"] = importlib.util.find_spec("airflow") is not None
    temporary = FOLDER / f"{os.getpid()}.tmp"
    temporary.write_text(json.dumps(start))
    temporary.rename(FOLDER / f"start-{time.time_ns()}-{os.getpid()}.json")
    if behaviour() == "hang":
        hang()
    try:
        drive(asked)
    except DataflowError as error:
        sys.exit(tell(error, as_json=False, error_file=os.environ.get(error_file.VARIABLE)))


if __name__ == "__main__":
    main()
