"""``ParDo`` on frames, and in Spark's own expressions."""
