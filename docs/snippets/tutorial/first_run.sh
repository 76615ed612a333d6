mkdir orders
cp morning.csv orders/
dataflow run orders.py:orders --mode micro-batch --state state --master 'local[2]'
