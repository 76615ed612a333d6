"""A folder of small documents, on a local disk or on an object store."""
