"""Audit of a state: the panes of the reference for the same files, clocks and epochs.

The epoch log has the clock of every epoch and the files that it read. If the files still exist, the reference can
compute every pane again. So a doubtful result can be traced to the engine or to the data.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.par_do import ARRIVAL_TIME, EVENT_TIME
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.ownership.identity import pinned_schema
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.reference.interpreter import Epoch, Interpreter
from airflow_dataflow_provider.testing.expressions import evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.progress.log.records import EpochRecord
    from airflow_dataflow_provider.spark.values.type_table import Schema


def epochs_of(state: str, pipeline: Pipeline) -> Iterator[tuple[EpochRecord, Epoch]]:
    """Every committed epoch of the stream, with its elements read again. Interval and abandoned epochs are skipped.

    Raises:
        StateError: ``STATE_NO_AUDIT`` where an epoch's result is missing in the log.
    """
    store = Store.open(state)
    log, schema = EpochLog(store), _stored_schema(store)
    for record in log.records():
        if not record.takes_part:
            continue
        prepared = log.prepared(record.epoch)
        if prepared is None or prepared.result is None:
            raise StateError(
                f"the result of epoch {record.epoch} is gone from {state}",
                reason="it names the files that the epoch read",
                hint="restore the document; without it the epoch cannot be audited",
                code="STATE_NO_AUDIT",
            )
        horizon = record.published.at(100) if record.kind == "end_of_input" else record.clock.watermark
        elements = _elements(pipeline, schema, prepared.result.files, record.clock.processing_time)
        yield record, Epoch(record.clock, elements, horizon)


def panes_of_reference(state: str, pipeline: Pipeline) -> list[Pane]:
    """Every pane that the reference publishes for the epochs of a state, in its order."""
    interpreter = Interpreter(pipeline, evaluator(pipeline))
    return [pane for _, epoch in epochs_of(state, pipeline) for pane in interpreter.epoch(epoch)]


def _stored_schema(store: Store) -> Schema:
    """The column types of the state; empty for the state of a test without them."""
    from airflow_dataflow_provider.spark.values.frames import schema_from_bytes

    pinned = pinned_schema(store)
    return {} if pinned is None else schema_from_bytes(pinned)


def _elements(pipeline: Pipeline, schema: Schema, files: Sequence[str], now: Micros) -> list[Element]:
    from airflow_dataflow_provider.spark.sources import reading
    from airflow_dataflow_provider.spark.sources.first_file import check_columns

    source = pipeline.source
    if not isinstance(source, Files):
        raise TypeError(source)
    elements: list[Element] = []
    for file in files:
        if not schema:
            found = reading.column_types(source, file)
            wanted = pipeline.input_columns(reading.columns_of_elements(found))
            schema = check_columns(source, wanted, found, file)
        for row in reading.read(source, schema, file, now).rows.iter_rows(named=True):
            event_time, arrival_time = row.pop(EVENT_TIME), row.pop(ARRIVAL_TIME)
            elements.append(Element(row, event_time, arrival_time))
    # An engine takes them in the order of arrival, not of files.
    return sorted(elements, key=attrgetter("arrival_time"))
