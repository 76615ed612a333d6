"""The settings and parts of one driver's run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.batch import BatchPolicies
from airflow_dataflow_provider.progress.upkeep.set_aside import Retention
from airflow_dataflow_provider.spark.reduce_side.driver_side import ROWS

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.model.time import Micros
    from airflow_dataflow_provider.model.watermarks import WatermarkCurve
    from airflow_dataflow_provider.progress.log.log import EpochLog
    from airflow_dataflow_provider.progress.log.records import EpochRecord
    from airflow_dataflow_provider.progress.ownership.identity import PipelineIdentity
    from airflow_dataflow_provider.progress.ownership.owner import Ownership
    from airflow_dataflow_provider.progress.store.store import Store
    from airflow_dataflow_provider.spark.running.workers import Workers
    from airflow_dataflow_provider.spark.sinks.pane_writer import PaneWriter
    from airflow_dataflow_provider.spark.stages.stages import Stages


@dataclass(frozen=True, slots=True)
class Run:
    """The settings and parts of one driver's run; they stay the same while it runs."""

    workers: Workers
    pipeline: Pipeline
    store: Store
    identity: PipelineIdentity
    ownership: Ownership
    log: EpochLog
    panes: PaneWriter
    stages: Stages
    mode: str
    run_id: str
    now: Callable[[], Micros]
    on_commit: Callable[[EpochRecord], None]
    script: Callable[[], WatermarkCurve] | None = None
    """Where a test says what the watermarks are, instead of the delays."""
    policies: BatchPolicies = field(default_factory=BatchPolicies)
    driver_rows: int = ROWS
    """Up to how many open windows and rows the driver reduces."""
    retention: Retention = field(default_factory=Retention)
    """How long rows that are set aside are kept."""
