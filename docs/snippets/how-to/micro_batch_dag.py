from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator

with DAG(
    "orders_every_quarter_hour",
    schedule="*/15 * * * *",
    start_date=datetime(2025, 12, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
):
    DataflowMicroBatchOperator(task_id="read_new_files", pipeline="orders.py:orders")
