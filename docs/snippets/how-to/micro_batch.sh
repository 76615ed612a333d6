python -m airflow_dataflow_provider run orders.py:orders --mode micro-batch --state state
