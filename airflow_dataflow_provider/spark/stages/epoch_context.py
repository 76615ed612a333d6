"""The facts of one epoch that the map side, the reduce side and the job share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.clock import EpochTime
    from airflow_dataflow_provider.model.interval import Interval
    from airflow_dataflow_provider.spark.stages.stages import Stages


@dataclass(frozen=True, slots=True)
class EpochContext:
    """The facts that every task of an epoch needs; Spark sends them to the workers.

    Attributes:
        stages: what to read, and how to group, combine and fire.
        partitions: the number of state partitions.
        state_url: where the state is; expired and rejected rows are written there, too.
        panes_url: where the pane log is.
        epoch: the epoch's number.
        time: the time that the first grouping sees.
        combining: combine rows before the shuffle. That does not pay where nearly every row has a key and window of
            its own.
        interval: what an interval epoch computes. It neither has nor leaves state. None for all other epochs.
    """

    stages: Stages
    partitions: int
    state_url: str
    panes_url: str
    epoch: int
    time: EpochTime
    combining: bool = True
    interval: Interval | None = None
