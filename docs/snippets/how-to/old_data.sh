dataflow run old_data.py:old_orders --mode micro-batch --state old-state
dataflow run old_data.py:old_orders --mode batch --state old-state
