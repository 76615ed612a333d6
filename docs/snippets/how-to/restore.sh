mv state damaged
cp -r backup state
dataflow verify --state state
dataflow run orders.py:orders --mode micro-batch --state state
