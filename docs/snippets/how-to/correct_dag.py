from datetime import UTC, datetime

from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_dataflow_provider.operators.batch import DataflowBatchOperator

with DAG(
    "correct_orders",
    schedule=CronDataIntervalTimetable("@daily", "UTC"),
    start_date=datetime(2025, 12, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
):
    DataflowBatchOperator(
        task_id="recompute",
        pipeline="orders.py:orders",
        # Two days behind: by then the windows have expired, and belong to batches.
        data_from="{{ data_interval_start - macros.timedelta(days=2) }}",
        data_to="{{ data_interval_end - macros.timedelta(days=2) }}",
    )
