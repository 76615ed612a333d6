git clone "$REPOSITORY" airflow-dataflow-provider
cd airflow-dataflow-provider
make demo
