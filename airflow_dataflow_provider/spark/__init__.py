"""The engine: everything is an epoch, on Apache Spark."""
