mkdir orders
cp morning.csv orders/
python -m airflow_dataflow_provider run orders.py:orders --mode micro-batch --state state --master 'local[2]'
