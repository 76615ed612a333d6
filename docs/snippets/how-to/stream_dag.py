from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from airflow_dataflow_provider.operators.stop import DataflowStopOperator
from airflow_dataflow_provider.operators.stream import DataflowStreamOperator

RETRIES = {"retries": 2, "retry_delay": timedelta(seconds=30)}

with DAG(
    "ensure_orders_stream",
    schedule="*/10 * * * *",
    start_date=datetime(2025, 12, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args=RETRIES,
):
    DataflowStreamOperator(task_id="ensure", pipeline="orders.py:orders")

with DAG("stop_orders_stream", schedule=None, default_args=RETRIES):
    DataflowStopOperator(task_id="stop", pipeline="orders.py:orders")
