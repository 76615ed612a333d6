python -m airflow_dataflow_provider signal publish --state state
touch state/signals/publish
