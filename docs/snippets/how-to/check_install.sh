python -m airflow_dataflow_provider --help
python -m airflow_dataflow_provider explain orders.py:orders
