"""The report of a map task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_dataflow_provider.progress.log.row_counts import NO_ROWS, RowCounts
from airflow_dataflow_provider.spark.watermark.delays import Observation

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.watermark_policies import WatermarkPolicy
    from airflow_dataflow_provider.progress.store.written_file import WrittenFile


@dataclass(frozen=True, slots=True)
class MapReport:
    """The rows and files that one map task, or all of them together, have read.

    Attributes:
        rows: elements and rejected rows; of an interval only the elements in its windows.
        accepted: the elements that were found in the files; 0 only if no row that was looked at is one.
        files: the paths of the files that were read.
        expired_files: the rows that came too late for their window, within the folder of such rows.
        rejected_files: the rows that cannot be read as elements, likewise.
        observation: the delays of the elements.
    """

    rows: RowCounts = NO_ROWS
    accepted: int = 0
    files: tuple[str, ...] = ()
    expired_files: tuple[WrittenFile, ...] = ()
    rejected_files: tuple[WrittenFile, ...] = ()
    observation: Observation = field(default_factory=Observation)

    def merged(self, other: MapReport, policy: WatermarkPolicy) -> MapReport:
        """Both together. The order counts in the last digits of an estimate, so merge in a fixed one."""
        return MapReport(
            self.rows + other.rows,
            self.accepted + other.accepted,
            self.files + other.files,
            self.expired_files + other.expired_files,
            self.rejected_files + other.rejected_files,
            self.observation.merged(other.observation, policy),
        )
