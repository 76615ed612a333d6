"""One epoch of one state partition, column-wise."""
