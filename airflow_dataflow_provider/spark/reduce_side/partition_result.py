"""The result of a reduce task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.spark.reduce_side.state import Chain

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.progress.store.written_file import WrittenFile
    from airflow_dataflow_provider.spark.map_side.map_report import MapReport


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """The result of one epoch in one state partition of one grouping.

    Attributes:
        partition: its number.
        worker: the host and process that ran the task.
        reports: of the map tasks; they reach the driver with the results of partition 0.
        received: the number of rows that were sent to the partition.
        chain: the state files after the epoch.
        state_bytes: the size of those that the epoch has written.
        late: elements that came after their window was complete, and were taken.
        expired: elements that no window took.
        expired_files: where these are, within the folder of expired rows.
        panes: the number of panes.
        pane_file: their file; None where they are few or none.
        few_panes: the panes themselves, where they are few: the driver writes those of all partitions to one file.
        awaited: by percentile, the earliest output time of a window that the next grouping's watermark waits for.
        earliest: the least output time that an open window can have; ``MAX_TIME`` where none is open.
    """

    partition: int
    worker: str
    reports: tuple[MapReport, ...] = ()
    received: int = 0
    chain: Chain = field(default_factory=Chain)
    state_bytes: int = 0
    late: int = 0
    expired: int = 0
    expired_files: tuple[WrittenFile, ...] = ()
    panes: int = 0
    pane_file: WrittenFile | None = None
    few_panes: bytes | None = None
    awaited: Mapping[float, Micros] = field(default_factory=dict)
    earliest: Micros = MAX_TIME
