export AIRFLOW_HOME="$PWD/airflow"
export AIRFLOW__CORE__DAGS_FOLDER="$PWD"
export AIRFLOW__CORE__LOAD_EXAMPLES=False
export AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "local[2]"}'
export AIRFLOW_CONN_DATAFLOW_DEFAULT='{"conn_type": "dataflow", "extra": {"state_root": "'"$PWD/states"'"}}'
