"""``SparkColumns`` on the engine: elements go through the JVM, where Spark's own expressions are evaluated.

Python workers read (and take the steps before), the JVM evaluates, Python workers take the steps after and go on. All
of it is one stage of narrow operations, so a task's elements stay together and in order. What a task has to report of
its reading goes the same way, as rows that the expressions never see.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.par_do import AssignWindows, ParDo, SparkColumns
from airflow_dataflow_provider.spark.kernel.columns import END, START
from airflow_dataflow_provider.spark.par_do.par_do import apply, schema_after
from airflow_dataflow_provider.spark.par_do.spark_types import spark_schema, to_arrow
from airflow_dataflow_provider.spark.tasks.task_errors import to_bytes, with_error
from airflow_dataflow_provider.spark.tasks.worker import freeze_imports
from airflow_dataflow_provider.spark.values.type_table import Schema, from_spark

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import Column, DataFrame, Row, SparkSession

    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

Passed = pl.DataFrame | bytes
"""What goes from the reading workers to the others: elements with their hidden columns, or a report."""

_REPORT = "_report"
_SENT = "partition int, origin string, blob binary"
_BATCH_ROWS = 2**16
"""Rows of a batch on the way to the JVM, which holds one at a time."""
_CHUNK_BYTES = 128 * 2**20
"""Batches are collected up to this size before the next steps take them."""
_ONE_BY_ONE = {"Project", "Filter", "LocalRelation", "LogicalRDD"}
"""The parts of a plan that looks at one element at a time."""


def schema_through(steps: Sequence[ParDo], schema: Schema, spark: SparkSession) -> Schema:
    """The types of an element's columns after some steps of any kind.

    Raises:
        SubmissionError: as :func:`schema_after` and :func:`schema_made`.
    """
    for python, expressions in _runs(steps):
        schema = schema_after(python, schema)
        if expressions is not None:
            schema = schema_made(expressions, schema, spark)
    return schema


def schema_made(step: SparkColumns, schema: Schema, spark: SparkSession) -> Schema:
    """The types of the columns after a step, as Spark has them.

    Raises:
        SubmissionError: ``SUBMIT_PAR_DO`` for expressions that Spark refuses, that look at more than one element, that
            do not always give the same, or that give a type which the engine does not have.
    """
    try:
        made = _evaluated(step, spark.createDataFrame([], spark_schema(schema)), [*schema], None)
        fields = made.schema.fields
    except PySparkException as error:
        raise _refused(step, _message(str(error)), "correct the expression") from error
    plan = made._jdf.queryExecution().analyzed()  # noqa: SLF001 - Spark tells it nowhere else
    nodes = {*re.findall(r"^[\s:+-]*(\w+)", plan.toString(), re.MULTILINE)}
    if nodes - _ONE_BY_ONE:
        raise _refused(step, f"it looks at other elements ({', '.join(sorted(nodes - _ONE_BY_ONE))})", "group first")
    if not plan.deterministic():
        reason = "it does not always give the same, and a task that is run again must"
        raise _refused(step, reason, "compute it from the element's own columns")
    found: Schema = {}
    for field in fields:
        dtype = from_spark(field.dataType.jsonValue())
        if dtype is None:
            reason = f"{field.name!r} would have Spark's type {field.dataType.simpleString()}, which the engine lacks"
            raise _refused(step, reason, "cast it")
        found[field.name] = dtype
    return found


def through_spark(  # noqa: PLR0917 - in the order in which they are used
    listing: DataFrame,
    read: Callable[[Iterator[Mapping[str, Any]]], Iterable[Passed]],
    steps: Sequence[ParDo],
    schema: Schema,
    hidden: Schema,
    send: Callable[[Iterator[Passed]], Iterable[Shuffled]],
) -> RDD[Shuffled]:
    """Elements from where they are read to the shuffle, through steps of which some are Spark's.

    Args:
        listing: what the tasks are to read, e.g. files; its partitions are the tasks.
        read: reads what a task's rows of the listing name: elements with the columns of the schema and the hidden ones,
            and, at any time, reports. Runs in a worker, once a task.
        steps: all those of the grouping.
        schema: the types of the elements' columns before the steps.
        hidden: the types of the hidden columns that ``read`` gives; those of windows that a step assigns come by
            themselves.
        send: takes what is left of a task's elements, in order, in frames of some size, and each of its reports; gives
            what goes through the shuffle. Runs in a worker, once a task.

    Raises:
        SubmissionError: as :func:`schema_made`.
    """
    spark, frame, types = listing.sparkSession, listing, schema
    source: _Source = _Listed(read)
    for python, expressions in _runs(steps):
        types = schema_after(python, types)
        if any(isinstance(step, AssignWindows) for step in python):
            hidden = hidden | {START: pl.Int64(), END: pl.Int64()}
        if expressions is None:
            break
        if python or frame is listing:
            passing = types | hidden | {_REPORT: pl.Binary()}
            frame = frame.mapInArrow(_Pass(source, tuple(python), passing), spark_schema(passing))
        frame = _evaluated(expressions, frame, [*types], F.col(_REPORT).isNull())
        types = schema_made(expressions, types, spark)
        source = _Unpacked(types | hidden)
    sent = frame.mapInArrow(_Sent(source, tuple(python), send), _SENT)
    return sent.rdd.map(_as_shuffled)


def _runs(steps: Sequence[ParDo]) -> list[tuple[list[ParDo], SparkColumns | None]]:
    """The steps as runs of Python's, each up to one of Spark's; the last one up to the end."""
    runs: list[tuple[list[ParDo], SparkColumns | None]] = []
    python: list[ParDo] = []
    for step in steps:
        if isinstance(step, SparkColumns):
            runs.append((python, step))
            python = []
        else:
            python.append(step)
    return [*runs, (python, None)]


def _evaluated(step: SparkColumns, frame: DataFrame, visible: Sequence[str], guard: Column | None) -> DataFrame:
    """The frame after a step.

    Args:
        step: the step.
        frame: elements; among them rows that are none, where there is a guard.
        visible: the columns of elements.
        guard: true of elements only; the other rows stay as they are.
    """
    if step.where is not None:
        frame = frame.where(F.expr(step.where) if guard is None else ~guard | F.expr(step.where))
    made = {name: F.expr(text) if guard is None else F.when(guard, F.expr(text)) for name, text in step.columns}
    hidden = [name for name in frame.columns if name not in visible]
    names = [*dict.fromkeys([*visible, *made]), *hidden]
    return frame.select([made[name].alias(name) if name in made else F.col(_quoted(name)) for name in names])


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


# In the workers


_Source = Callable[[Iterator[pa.RecordBatch]], Iterator[Passed]]


@dataclass(frozen=True, slots=True)
class _Listed:
    """What is read of the listing."""

    read: Callable[[Iterator[Mapping[str, Any]]], Iterable[Passed]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Passed]:
        yield from self.read(row for batch in batches for row in batch.to_pylist())


@dataclass(frozen=True, slots=True)
class _Unpacked:
    """What comes back from the JVM, in frames of some size."""

    types: Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Passed]:
        collected: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            collected.append(batch)
            size += batch.nbytes
            if size >= _CHUNK_BYTES:
                yield from self._passed(collected)
                collected, size = [], 0
        if collected:
            yield from self._passed(collected)

    def _passed(self, batches: list[pa.RecordBatch]) -> Iterator[Passed]:
        frame = pl.DataFrame(pa.Table.from_batches(batches))
        yield from frame[_REPORT].drop_nulls()
        frame = frame.filter(pl.col(_REPORT).is_null()).select(pl.col(name).cast(of) for name, of in self.types.items())
        if len(frame):
            yield frame


@dataclass(frozen=True, slots=True)
class _Pass:
    """To the JVM: elements after some steps, and reports as rows in which all else is null."""

    source: _Source
    steps: tuple[ParDo, ...]
    types: Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        for passed in with_error(_after(self.steps, self.source(batches))):
            if not isinstance(passed, pl.DataFrame):
                report = passed if isinstance(passed, bytes) else to_bytes(passed)
                frame = pl.DataFrame({name: [report if name == _REPORT else None] for name in self.types})
            else:
                frame = passed.with_columns(pl.lit(None, pl.Binary).alias(_REPORT))
            frame = frame.select(pl.col(name).cast(of) for name, of in self.types.items())
            yield from to_arrow(frame).to_batches(max_chunksize=_BATCH_ROWS)


@dataclass(frozen=True, slots=True)
class _Sent:
    """To the shuffle: one row a blob."""

    source: _Source
    steps: tuple[ParDo, ...]
    send: Callable[[Iterator[Passed]], Iterable[Shuffled]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_imports()
        names = ["partition", "origin", "blob"]
        for partition, (origin, blob) in self.send(_after(self.steps, self.source(batches))):
            columns = [pa.array([partition], pa.int32()), pa.array([origin]), pa.array([blob], pa.binary())]
            yield pa.RecordBatch.from_arrays(columns, names=names)


def _after(steps: Sequence[ParDo], source: Iterator[Passed]) -> Iterator[Passed]:
    """Elements after some steps, and reports as they are."""
    for passed in source:
        yield passed if isinstance(passed, bytes) else apply(steps, passed)


def _as_shuffled(row: Row) -> Shuffled:
    return row["partition"], (row["origin"], bytes(row["blob"]))


# What Spark tells


def _message(text: str) -> str:
    """What Spark says in a sentence or two, without its plan and its codes."""
    return " ".join(re.split(r" SQLSTATE|;?\n\n", text, maxsplit=1)[0].split())


def _refused(step: SparkColumns, reason: str, hint: str) -> SubmissionError:
    return SubmissionError(f"Spark cannot evaluate {step!r}", reason=reason, hint=hint, code="SUBMIT_PAR_DO")
