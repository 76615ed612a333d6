mv state damaged
cp -r backup state
python -m airflow_dataflow_provider verify --state state
python -m airflow_dataflow_provider run orders.py:orders --mode micro-batch --state state
