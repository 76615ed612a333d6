"""What a pipeline is: what, where, when and how. Pure Python: neither Spark, Airflow nor a data frame library."""
