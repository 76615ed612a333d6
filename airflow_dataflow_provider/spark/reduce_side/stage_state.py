"""The state of one grouping between two epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

from airflow_dataflow_provider.model.hold import Hold
from airflow_dataflow_provider.model.time import MIN_TIME, Micros, from_iso, iso
from airflow_dataflow_provider.progress.log.waiting import Waiting
from airflow_dataflow_provider.spark.kernel.triggers.next_due import NEVER, NextDue
from airflow_dataflow_provider.spark.reduce_side.state import Chain


@dataclass(frozen=True, slots=True)
class StageState:
    """The state of one grouping.

    Attributes:
        chains: the state files, by partition.
        expired_until: the horizon that they were committed with.
        hold: the watermark that the grouping before has let through; nothing for the first grouping.
    """

    chains: Mapping[int, Chain]
    expired_until: Micros = MIN_TIME
    hold: Hold = field(default_factory=Hold)

    @classmethod
    def empty(cls, partitions: int) -> StageState:
        """The state before the first epoch."""
        return cls(dict.fromkeys(range(partitions), Chain()))

    @property
    def open_windows(self) -> int:
        """The number of open windows."""
        return sum(chain.live for chain in self.chains.values())

    def to_json(self) -> dict[str, Any]:
        """For the epoch log."""
        chains = {str(partition): chain.to_json() for partition, chain in sorted(self.chains.items())}
        return {"chains": chains, "horizon": iso(self.expired_until), "hold": self.hold.to_json()}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> StageState:
        """Read back :meth:`to_json`; the first grouping's document has no hold."""
        chains = {int(partition): Chain.from_json(chain) for partition, chain in document["chains"].items()}
        hold = Hold.from_json(document["hold"]) if "hold" in document else Hold()
        return cls(chains, from_iso(document["horizon"]), hold)


def waiting_windows(states: Sequence[StageState]) -> Waiting:
    """The windows that groupings have open, and what the first of them to fire waits for."""
    chains = [chain for state in states for chain in state.chains.values() if chain.live]
    first = reduce(NextDue.or_when, (chain.next_due for chain in chains), NextDue())
    return Waiting(
        sum(chain.live for chain in chains),
        tuple(sorted(first.watermarks.items())),
        None if first.processing_time == NEVER else first.processing_time,
        tuple(sorted(first.signals)),
    )
