python -m airflow_dataflow_provider status --state state
python -m airflow_dataflow_provider status --state state --json
