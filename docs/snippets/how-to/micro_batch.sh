dataflow run orders.py:orders --mode micro-batch --state state
