cp noon.csv orders/
dataflow run orders.py:orders --mode micro-batch --state state --master 'local[2]'
dataflow status --state state
dataflow show --state state
