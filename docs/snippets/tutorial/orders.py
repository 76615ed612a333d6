from pathlib import Path

from airflow_dataflow_provider import (
    ACCUMULATING,
    AtWatermark,
    Count,
    Files,
    FixedWindows,
    PaneLog,
    Pipeline,
    Repeat,
    Sum,
)

FOLDER = Path(__file__).parent / "orders"

orders = (
    Pipeline("orders", Files(f"{FOLDER}/*.csv", event_time="ordered_at", arrival_time="received_at"))
    .group_by_key_and_window(
        key="shop",
        window=FixedWindows("1h"),
        trigger=Repeat(AtWatermark()),
        refinement=ACCUMULATING,
        allowed_lateness="1d",
    )
    .combine(orders=Count(), turnover=Sum("amount"))
    .write(PaneLog())
)
