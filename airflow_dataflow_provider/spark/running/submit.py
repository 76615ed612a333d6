"""Running a pipeline: everything that can be refused is refused before Spark starts, then one driver runs it."""

from __future__ import annotations

import logging
import os
import re
import threading
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.batch import BatchPolicies
from airflow_dataflow_provider.model.errors import OwnershipError, StateError, SubmissionError
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.par_do import SparkColumns
from airflow_dataflow_provider.model.proofs import never_fires_in_a_stream, refuse
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, iso
from airflow_dataflow_provider.model.windows import GlobalWindows
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.ownership.owner import Heart, Ownership
from airflow_dataflow_provider.progress.requests.signals import listened_to
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.upkeep.set_aside import RETENTION_CONF, Retention
from airflow_dataflow_provider.progress.wall import wall_clock
from airflow_dataflow_provider.spark.reduce_side.driver_side import ROWS, ROWS_CONF
from airflow_dataflow_provider.spark.running.checkpoint import Checkpoint
from airflow_dataflow_provider.spark.sources.first_file import check_columns
from airflow_dataflow_provider.spark.sources.listing import SourceListing
from airflow_dataflow_provider.spark.sources.reading import column_types, columns_of_elements
from airflow_dataflow_provider.spark.stages.stages import Stages
from airflow_dataflow_provider.spark.tasks.user_code import carry, check_named
from airflow_dataflow_provider.spark.values.frames import schema_bytes, schema_from_bytes
from airflow_dataflow_provider.spark.values.type_table import Schema

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.model.interval import Interval
    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.progress.log.records import EpochRecord
    from airflow_dataflow_provider.spark.running.workers import Workers

_log = logging.getLogger(__name__)
_PARTITIONS_ON_A_CLUSTER = 8
_LOCAL_MASTER = re.compile(r"local(?:\[(\d+|\*)(?:,\d+)?\])?")
SCHEMA = "schema.arrow"
"""Under a state URL: the types of the columns that are read, as they were pinned, for any Arrow tool."""
PARTITIONS_CONF = "dataflow.state.partitions"
"""Among ``--conf``: the number of state partitions of a new state."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A request to run a pipeline.

    Args:
        pipeline: what.
        mode: how.
        state: the URL of its state, on a file system that Spark, its workers and Airflow all reach.
        interval: for a batch, what it computes; None: everything.
        master: Spark's master; None leaves it to spark-submit, or else is ``local[*]``.
        conf: settings for Spark, :data:`PARTITIONS_CONF`, :data:`~.driver_side.ROWS_CONF`, :data:`RETENTION_CONF`.
        run_id: names this run; by default made up.
        take_over: fence a driver that lives.
        policies: what the run does at the end of a bounded input, and before.
        now: reads processing time.
        on_epoch: is told each committed epoch.
        on_start: is told the mode that really runs and Spark's session.
    """

    pipeline: Pipeline
    mode: RuntimeMode
    state: str
    interval: Interval | None = None
    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    run_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    take_over: bool = False
    policies: BatchPolicies = field(default_factory=BatchPolicies)
    now: Callable[[], Micros] = wall_clock
    on_epoch: Callable[[EpochRecord], None] = lambda record: None  # noqa: ARG005 - a listener that does not listen
    on_start: Callable[[RuntimeMode, SparkSession], None] = lambda mode, spark: None  # noqa: ARG005
    workers: Workers | None = None
    """Where tasks run; by default on Spark, which is started, or found running."""
    spark_log: Path | None = None
    """The file that takes what Java and Spark print; by default this process's own output does."""


def run(submission: Submission, stopping: threading.Event | None = None) -> RuntimeMode:
    """Run a pipeline to the end of its batch or backlog, or until it is asked to stop.

    Args:
        submission: what to run.
        stopping: set from outside to end a stream after the epoch at hand.

    Returns:
        The mode that ran.

    Raises:
        DataflowError: for everything that is refused, and for what the data does not allow.
    """
    pipeline, now = submission.pipeline, submission.now
    mode = check_definition(pipeline, submission.mode, submission.interval, submission.policies)
    store = Store.open(submission.state)
    _check_store(store)
    schema = _schema(pipeline, store, needed=mode is RuntimeMode.BATCH)
    if schema is not None and not needs_spark(pipeline):
        Stages.of(pipeline, schema)
    partitions = _partitions(submission.conf, submission.master)
    rows, retention = _driver_rows(submission.conf), Retention.from_conf(submission.conf)
    stored = identity.ensure(
        store,
        name=pipeline.name,
        fingerprint=pipeline.fingerprint(),
        definition=repr(pipeline),
        shape=pipeline.shape(),
        partitions=partitions,
        now=now(),
        signals=listened_to(pipeline),
    )
    ownership = Ownership.claim(
        store, mode=mode.value, run_id=submission.run_id, now=now(), take_over=submission.take_over
    )
    try:
        with Heart(ownership, clock=now) as heart:
            _run_owned(
                submission,
                mode,
                _Owned(store, stored, ownership, heart, rows, retention),
                stopping or threading.Event(),
            )
    except OwnershipError as error:
        ownership.release(now(), "fenced", error)
        raise
    except BaseException as error:
        ownership.release(now(), "failed", error)
        raise
    ownership.release(now(), "stopped")
    return mode


@dataclass(frozen=True, slots=True)
class _Owned:
    """A state, and the right to drive it."""

    store: Store
    stored: identity.PipelineIdentity
    ownership: Ownership
    heart: Heart
    driver_rows: int
    retention: Retention


def _run_owned(submission: Submission, mode: RuntimeMode, owned: _Owned, stopping: threading.Event) -> None:
    store, stored, ownership, heart = owned.store, owned.stored, owned.ownership, owned.heart
    pipeline = submission.pipeline
    log = EpochLog(store)
    if submission.interval is not None:
        _check_batch_owns(store, log, submission.interval, pipeline)
    schema = _await_schema(pipeline, store, mode, heart.check, stopping)
    if schema is None:
        return

    from airflow_dataflow_provider.spark.running.run import Run  # noqa: PLC0415 - the checks above need no Spark
    from airflow_dataflow_provider.spark.running.runner import Runner  # noqa: PLC0415
    from airflow_dataflow_provider.spark.sinks.pane_writer import PaneWriter  # noqa: PLC0415

    panes = PaneWriter(store, stored.state_id, pipeline)
    panes.check()
    workers = submission.workers or _spark_workers(submission, mode, ownership)
    stages = workers.stages(pipeline, schema)
    heart.check()
    stored, types = identity.pin(store, stored, schema_bytes(schema))
    if types != schema_bytes(schema):
        stages = workers.stages(pipeline, schema_from_bytes(types))
    if not store.exists(SCHEMA):
        store.write(SCHEMA, types)
    panes.open(stages)
    run_ = Run(
        workers, pipeline, store, stored, ownership, log, panes, stages, mode.value, submission.run_id,
        submission.now, submission.on_epoch, policies=submission.policies, driver_rows=owned.driver_rows,
        retention=owned.retention,
    )  # fmt: skip
    Runner(run_, heart.check, stopping).run(mode, submission.interval)


def _spark_workers(submission: Submission, mode: RuntimeMode, ownership: Ownership) -> Workers:
    from airflow_dataflow_provider.spark.running.session import spark_session  # noqa: PLC0415 - the checks before need no Spark
    from airflow_dataflow_provider.spark.running.workers import SparkWorkers  # noqa: PLC0415

    ours = (PARTITIONS_CONF, ROWS_CONF, RETENTION_CONF)
    conf = {name: value for name, value in submission.conf.items() if not name.startswith(ours)}
    spark = spark_session(
        f"dataflow-{submission.pipeline.name}", master=submission.master, conf=conf, log_file=submission.spark_log
    )
    carry(submission.pipeline)
    context = spark.sparkContext
    ownership.heartbeat(submission.now(), application_id=context.applicationId, ui=context.uiWebUrl)
    submission.on_start(mode, spark)
    return SparkWorkers(spark)


def check_definition(
    pipeline: Pipeline, mode: RuntimeMode, interval: Interval | None, policies: BatchPolicies
) -> RuntimeMode:
    """Every check of a run that needs neither its source nor its state.

    Returns:
        The mode that really runs.

    Raises:
        DataflowError: for what is refused.
    """
    resolved = mode.resolve(pipeline.source.boundedness, has_interval=interval is not None)
    check_plan(pipeline, interval)
    check_named(pipeline)
    policies.check(pipeline, resolved, has_interval=interval is not None)
    if resolved is not RuntimeMode.BATCH:
        for grouping in pipeline.groupings:
            refuse(Risk.MAY_NEVER_FIRE, never_fires_in_a_stream(grouping), grouping)
    return resolved


def check_plan(pipeline: Pipeline, interval: Interval | None) -> None:
    """Refuse what the engine does not do, before anything of it is done.

    Raises:
        SubmissionError: ``ENGINE_SOURCE``, ``ENGINE_PAR_DO``, ``SUBMIT_INTERVAL_WINDOW``.
    """
    grouping = pipeline.grouping
    if not isinstance(pipeline.source, Files):
        raise SubmissionError(
            f"the Spark engine does not read {pipeline.source!r}", hint="use Files", code="ENGINE_SOURCE"
        )
    for step in pipeline.par_dos()[len(pipeline.groupings[0].par_dos) :]:
        if isinstance(step, SparkColumns):
            raise SubmissionError(
                f"{step!r} comes after a grouping",
                reason="what is done to results is done in the workers, where Spark's expressions are not known",
                hint="write the step as Vectorised or PerElement",
                code="ENGINE_PAR_DO",
            )
    if interval is None:
        return
    if isinstance(grouping.window, GlobalWindows):
        raise SubmissionError(
            "an interval was given, but the window is global",
            reason="an interval takes the windows that end in it, and the global window never ends",
            hint="run without --from and --to, or use fixed windows",
            code="SUBMIT_INTERVAL_WINDOW",
        )


def needs_spark(pipeline: Pipeline) -> bool:
    """Whether only Spark can say what types the elements have."""
    return any(isinstance(step, SparkColumns) for step in pipeline.par_dos())


def _check_store(store: Store) -> None:
    if store.url.startswith("memory://"):
        raise StateError(
            f"the state URL {store.url} is this process's memory",
            reason="Spark's workers and a later run cannot reach it",
            hint="use a path or URL that the driver, the workers and Airflow all reach",
            code="STATE_FILESYSTEM",
        )


def _partitions(conf: Mapping[str, str], master: str | None) -> int:
    """The number of state partitions of a new state: as asked for, one a core of this machine, or eight."""
    asked = _number(conf, PARTITIONS_CONF, "partitions", range(1, 2**15 + 1))
    if asked is None:
        local = _LOCAL_MASTER.fullmatch(master or "")
        if local is None:
            return _PARTITIONS_ON_A_CLUSTER
        cores = (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)
        return max(2, cores)
    return asked


def _driver_rows(conf: Mapping[str, str]) -> int:
    """Up to how many rows the driver reduces."""
    asked = _number(conf, ROWS_CONF, "rows", range(10**7 + 1))
    return ROWS if asked is None else asked


def _number(conf: Mapping[str, str], name: str, of: str, allowed: range) -> int | None:
    """A setting of ours, or None where it is not set."""
    text = conf.get(name)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and int(text) in allowed):
        raise SubmissionError(
            f"--conf {name}={text} is not a number of {of}",
            hint=f"give {allowed[0]} to {allowed[-1]}",
            code="SUBMIT_CONF",
        )
    return int(text)


def _schema(pipeline: Pipeline, store: Store, *, needed: bool) -> Schema | None:
    """The types in which columns are kept: those of the first run, or of the first file; None before there is one."""
    source = pipeline.source
    if not isinstance(source, Files):  # the plan was checked before
        raise TypeError(source)
    listing = SourceListing(source)
    listing.check()
    if needed and listing.is_empty():
        raise SubmissionError(
            f"the source {source.path!r} has no files",
            reason="a batch over nothing would replace the published results with nothing",
            hint="check the path and the files' names; a folder means the files in it that end in "
            f".{source.file_format.endings[0]}",
            code="SOURCE_EMPTY",
        )
    pinned = identity.pinned_schema(store)
    if pinned is not None:
        stored = schema_from_bytes(pinned)
        wanted = pipeline.input_columns(tuple(stored))
        if {*wanted} <= stored.keys():
            return {name: stored[name] for name in wanted}
    return first_schema(pipeline, listing)


def first_schema(pipeline: Pipeline, listing: SourceListing) -> Schema | None:
    """The types of the columns that are read, from the first file; None before there is one.

    Raises:
        DataflowError: as :func:`~.reading.column_types` and :func:`~.reading.check_columns`.
    """
    source = listing.source
    first = next(iter(listing.everything()), None)
    if first is None:
        return None
    file = first.path
    found = column_types(source, file)
    carried = columns_of_elements(found)
    wanted = pipeline.input_columns(carried)
    left_out = sorted(found.keys() - {*carried, *wanted})
    if left_out and pipeline.groupings[0].reads() is None:
        _tell_left_out(pipeline.name, ", ".join(left_out))
    return check_columns(source, wanted, found, file)


@cache
def _tell_left_out(name: str, columns: str) -> None:
    """Once, however often a run looks at its source."""
    _log.warning("%s reads all columns but %s, which the engine cannot carry", name, columns)


def _await_schema(
    pipeline: Pipeline, store: Store, mode: RuntimeMode, heart_check: Callable[[], None], stopping: threading.Event
) -> Schema | None:
    """The schema; a stream over an empty folder waits for its first file, a micro-batch has nothing to do."""
    schema = _schema(pipeline, store, needed=False)
    while schema is None:
        if mode is not RuntimeMode.STREAMING:
            return None
        heart_check()
        if stopping.wait(0.5):
            return None
        schema = _schema(pipeline, store, needed=False)
    return schema


def _check_batch_owns(store: Store, log: EpochLog, interval: Interval, pipeline: Pipeline) -> None:
    """The stream owns windows that have not expired, batch owns expired ones (DESIGN 8)."""
    newest = next(log.stream_records(log.last_record()), None)
    if newest is None:
        return
    # Windows of a grouping that comes after others expire by a watermark that is held back by theirs.
    *before, stage = Checkpoint.from_json(newest.checkpoint).stages
    horizon = stage.expired_until if before else newest.published.at(100)
    owned_until = horizon - pipeline.grouping.allowed_lateness if horizon > MIN_TIME else MIN_TIME
    if interval.end > owned_until:
        raise StateError(
            f"windows that end up to {iso(interval.end)} are asked for, but the windows after {iso(owned_until)} of "
            f"{store.url} are still open",
            reason="an incremental run owns a window until it has expired; two writers of one row would fight",
            hint=f"choose --to at or before {iso(owned_until)}, or give the batch a state URL of its own",
            code="STATE_WINDOWS_OPEN",
        )
