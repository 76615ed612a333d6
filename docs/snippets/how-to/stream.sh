python -m airflow_dataflow_provider run orders.py:orders --mode streaming --state state
python -m airflow_dataflow_provider status --state state
python -m airflow_dataflow_provider stop --state state
