dataflow --help
dataflow explain orders.py:orders
