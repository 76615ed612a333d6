python -m airflow_dataflow_provider stop --state state
python -m airflow_dataflow_provider run orders.py:orders --mode batch --state state-2
python -m airflow_dataflow_provider verify --state state-2
