from airflow.sdk import DAG

from airflow_dataflow_provider.operators.signal import DataflowSignalOperator

with DAG("publish_orders", schedule=None):
    DataflowSignalOperator(task_id="publish", pipeline="orders.py:orders", signal="publish")
