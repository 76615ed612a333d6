cp -r state backup
python -m airflow_dataflow_provider verify --state backup
