dataflow run orders.py:orders --mode micro-batch --state state --master spark://spark-master:7077 --conf spark.executor.memory=4g
