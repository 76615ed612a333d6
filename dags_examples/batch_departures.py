"""Batch: recomputes the departures of one whole day every night.

The run takes the windows of its data interval and replaces what stood there, so it may run again as often as one likes.
"""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_dataflow_provider.operators.batch import DataflowBatchOperator

with DAG(
    "batch_departures",
    # A timetable whose runs are about an interval; a bare "@daily" gives runs that are about a moment.
    schedule=CronDataIntervalTimetable("@daily", "America/New_York"),
    # The flights are of 2013, so no run is due by itself: trigger one for a day, or backfill.
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    end_date=datetime(2014, 1, 1, tzinfo=UTC),
    catchup=False,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=5)},
    tags=["dataflow"],
):
    DataflowBatchOperator(
        task_id="count",
        pipeline="departures.py:departures",  # the file beside this one; only the driver loads it
        # Each way of running has a state of its own here, side by side under the connection's state root.
        state="{{ conn.dataflow_default.extra_dejson.state_root }}/batch",
    )
