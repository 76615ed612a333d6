"""Shared by all tasks on Spark: users' code, and errors on their way to the driver."""
