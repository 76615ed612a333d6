python -m airflow_dataflow_provider run old_data.py:old_orders --mode micro-batch --state old-state
python -m airflow_dataflow_provider run old_data.py:old_orders --mode batch --state old-state
