"""Gate: writes the report on an hour once 97 % of its departures are known.

Between its looks at the watermark the sensor takes no worker: it waits in the triggerer.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_dataflow_provider.sensors.watermark import WatermarkSensor

STATE = "{{ conn.dataflow_default.extra_dejson.state_root }}/stream"
REPORTS = Path(os.environ.get("DEPARTURES_REPORTS", Path(__file__).parents[1] / "build/demo/reports"))


@task
def report(state: str, start: str, end: str) -> str:
    """Write the panes of the hour to a file, and return its path."""
    import polars as pl

    from airflow_dataflow_provider import PaneLogReader

    hour = pl.col("window_start") >= datetime.fromisoformat(start), pl.col("window_end") <= datetime.fromisoformat(end)
    table = PaneLogReader(state).current().filter(*hour)
    REPORTS.mkdir(parents=True, exist_ok=True)
    file = REPORTS / f"departures-{datetime.fromisoformat(start):%Y%m%dT%H%M}.json"
    file.write_text(table.write_json(), encoding="utf-8")
    return str(file)


with DAG(
    "gated_report",
    schedule=CronDataIntervalTimetable("@hourly", "UTC"),
    # The flights are of 2013, so no run is due by itself: trigger one for an hour.
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    end_date=datetime(2014, 1, 1, tzinfo=UTC),
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=5)},
    tags=["dataflow"],
):
    complete = WatermarkSensor(
        task_id="complete",
        state=STATE,
        percentile=97,
        target="{{ data_interval_end }}",
        poke_interval=1,
        deferrable=True,  # it waits in the triggerer, and holds no worker
    )
    complete >> report(STATE, "{{ data_interval_start }}", "{{ data_interval_end }}")
