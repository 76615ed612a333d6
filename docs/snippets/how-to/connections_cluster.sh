export AIRFLOW_CONN_SPARK_DEFAULT='{"conn_type": "spark", "host": "spark://spark-master:7077", "extra": {"deploy-mode": "client"}}'
export AIRFLOW_CONN_DATAFLOW_DEFAULT='{"conn_type": "dataflow", "extra": {"state_root": "s3://lake/dataflow/states", "spark_conn_id": "spark_default", "python": "/opt/driver/bin/python", "conf": {"spark.executor.memory": "4g", "dataflow.state.partitions": 32}}}'
