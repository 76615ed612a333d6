"""Audit of a state: what the reference would have published from the same files, at the same clocks, cut the same way.

The epoch log says for every epoch its clock and the files that it read. With the files still there, the reference can
be asked for every pane again; whoever doubts a number can see whether the engine or the data is to blame.
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
    """Every committed epoch that took part in the stream, with its elements read anew.

    Epochs that recomputed an interval, and abandoned ones, are left out.

    Raises:
        StateError: ``STATE_NO_AUDIT`` where an epoch's result is gone from the log.
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
    """The types that the state keeps its columns in; of a test's state, which has none, there are none."""
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
    # An engine takes them in the order of their arrival, whatever files they came in.
    return sorted(elements, key=attrgetter("arrival_time"))
