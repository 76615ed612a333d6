dataflow stop --state state
dataflow run orders.py:orders --mode batch --state state-2
dataflow verify --state state-2
