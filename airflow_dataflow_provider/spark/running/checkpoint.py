"""The engine's state after an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.time import from_iso, iso
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.sources.read_splits import ReadChain
from airflow_dataflow_provider.spark.watermark.delays import Observation

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.time import Micros


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The engine's state after an epoch, from which the next one goes on. The epoch's result and commit have it.

    Attributes:
        stages: the state of each grouping.
        processing_time: of the epoch's clock.
        distinct: the share of distinct keys and windows among the rows of the last epoch that has read any.
        sent: how many rows the map side of that epoch has sent; None before there was one.
        observed: the delays of the epoch's rows; None where it has read none.
        delays: those of all rows so far; None in most epochs, which log only their own.
        state_bytes: the size of the state files that the epoch has written.
        read_splits: the files that list what earlier epochs have read; None in an interval epoch.
    """

    stages: tuple[StageState, ...]
    processing_time: Micros
    distinct: float
    sent: int | None
    observed: Observation | None
    delays: Observation | None
    state_bytes: int
    read_splits: ReadChain | None

    def to_json(self) -> dict[str, Any]:
        """For the epoch log."""
        first, *further = (stage.to_json() for stage in self.stages)
        return {
            "state_bytes": self.state_bytes,
            "horizon": first["horizon"],
            "distinct": self.distinct,
            "sent": self.sent,
            "chains": first["chains"],
            "further": further,
            "observed": None if self.observed is None else self.observed.to_json(),
            "delays": None if self.delays is None else self.delays.to_json(),
            "clock_processing_time": iso(self.processing_time),
            "read_splits": None if self.read_splits is None else self.read_splits.to_json(),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Checkpoint:
        """Read back :meth:`to_json`."""
        observed, delays, read = document["observed"], document["delays"], document["read_splits"]
        return cls(
            tuple(map(StageState.from_json, (document, *document["further"]))),
            from_iso(document["clock_processing_time"]),
            document["distinct"],
            document.get("sent"),
            None if observed is None else Observation.from_json(observed),
            None if delays is None else Observation.from_json(delays),
            document["state_bytes"],
            None if read is None else ReadChain.from_json(read),
        )
