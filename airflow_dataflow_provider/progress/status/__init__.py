"""The status of a pipeline, answers about its watermark, and its skew."""
