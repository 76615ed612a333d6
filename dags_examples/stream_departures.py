"""Stream: one DAG ensures that the continuous job runs, the other one stops it.

The job belongs to no task. ``stream_departures`` may run as often as it likes: where the stream runs it does nothing.
"""

from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG

from airflow_dataflow_provider.operators.stop import DataflowStopOperator
from airflow_dataflow_provider.operators.stream import DataflowStreamOperator

STATE = "{{ conn.dataflow_default.extra_dejson.state_root }}/stream"
RETRY = {"retries": 1, "retry_delay": timedelta(seconds=5)}

with DAG(
    "stream_departures",
    schedule="*/10 * * * *",  # a stream that has died is back within ten minutes
    start_date=datetime(2013, 1, 1, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args=RETRY,
    tags=["dataflow"],
):
    DataflowStreamOperator(task_id="ensure", pipeline="departures.py:departures", state=STATE)

# Pause stream_departures before you stop the stream, or its next run starts it again.
with DAG("stop_departures", schedule=None, default_args=RETRY, tags=["dataflow"]):
    DataflowStopOperator(task_id="stop", state=STATE)  # open windows stay in the state; drain=True would fire them
