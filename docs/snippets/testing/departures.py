from airflow_dataflow_provider import ACCUMULATING, AtWatermark, Count, Files, FixedWindows, Mean, Pipeline, Repeat

departures = (
    Pipeline("departures", Files("flights/*.parquet", event_time="scheduled"))
    .group_by_key_and_window(
        key="origin",
        window=FixedWindows("1h"),
        trigger=Repeat(AtWatermark()),
        refinement=ACCUMULATING,
        allowed_lateness="1d",
    )
    .combine(flights=Count(), mean_delay=Mean("dep_delay"))
)
