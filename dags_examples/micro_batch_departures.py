"""Micro-batches: each run reads the files that are new since the last one, on one state.

A run publishes what its data completed and keeps the windows that are still open for the next run.
"""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator

with DAG(
    "micro_batch_departures",
    schedule="@continuous",  # the next run as soon as the last one is done; "*/15 * * * *" would do as well
    max_active_runs=1,  # one state, one run at a time
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=5)},
    tags=["dataflow"],
):
    DataflowMicroBatchOperator(
        task_id="count",
        pipeline="departures.py:departures",
        state="{{ conn.dataflow_default.extra_dejson.state_root }}/micro-batch",
    )
