from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_dataflow_provider.operators.batch import DataflowBatchOperator

with DAG(
    "nightly_orders",
    schedule=CronDataIntervalTimetable("0 3 * * *", "Europe/Vienna"),
    start_date=datetime(2025, 12, 1, tzinfo=UTC),
    catchup=False,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5)},
):
    DataflowBatchOperator(task_id="orders", pipeline="orders.py:orders")
