from airflow_dataflow_provider import (
    ACCUMULATING,
    AtPeriod,
    AtWatermark,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    RepeatUntil,
    SequenceOf,
    Sum,
    TestStream,
)

pipeline = (
    Pipeline("scores", Files("scores/*.parquet", event_time="scored_at"))
    .group_by_key_and_window(
        key="team",
        window=FixedWindows("2m"),
        trigger=SequenceOf(RepeatUntil(AtPeriod("1m"), AtWatermark()), Repeat(AtWatermark())),
        refinement=ACCUMULATING,
        allowed_lateness="1d",
    )
    .combine(total=Sum("score"))
)

panes = (
    TestStream(pipeline)
    .advance_processing_time("12:05:30")
    .add(("red", 5, "12:00:26"), ("red", 7, "12:02:24"))  # key, value, event time
    .advance_processing_time("12:06")
    .advance_watermark("12:02")
    .add(("red", 9, "12:01:26"))  # late
    .advance_watermark("12:03")
    .run()
)
for pane in panes:
    print(pane.window, pane.values, pane.timing)
