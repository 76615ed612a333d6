dataflow run orders.py:orders --mode streaming --state state
dataflow status --state state
dataflow stop --state state
