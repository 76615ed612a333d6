git clone "$REPOSITORY" airflow-dataflow-provider
python3.11 -m venv venv
venv/bin/pip install './airflow-dataflow-provider[spark,airflow,demo,testing]'
