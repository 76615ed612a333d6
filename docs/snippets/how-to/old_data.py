from pathlib import Path

from airflow_dataflow_provider import (
    ACCUMULATING,
    AtWatermark,
    BoundedDelay,
    Count,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    Sum,
)

OLD = Path(__file__).parent / "old"

old_orders = (
    Pipeline("old_orders", Files(f"{OLD}/*.csv", event_time="ordered_at", watermark=BoundedDelay("10m")))
    .group_by_key_and_window(
        key="shop",
        window=FixedWindows("1h"),
        trigger=Repeat(AtWatermark()),
        refinement=ACCUMULATING,
        allowed_lateness="1d",
    )
    .combine(orders=Count(), turnover=Sum("amount"))
)
