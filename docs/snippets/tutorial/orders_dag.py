from datetime import UTC, datetime, timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_dataflow_provider.operators.micro_batch import DataflowMicroBatchOperator
from airflow_dataflow_provider.sensors.watermark import WatermarkSensor

PIPELINE = "orders.py:orders"  # the file beside this one


@task
def report(hour: str, until: str) -> None:
    import polars as pl

    from airflow_dataflow_provider import PaneLogReader
    from airflow_dataflow_provider.hooks.dataflow import DataflowHook

    table = PaneLogReader(DataflowHook().state_url(PIPELINE)).current()
    of_the_hour = pl.col("window_start") == datetime.fromisoformat(hour)
    print(f"orders from {hour} to {until}:", table.filter(of_the_hour).select("shop", "orders", "turnover"))


with DAG(
    "orders",
    schedule="*/15 * * * *",
    start_date=datetime(2026, 3, 2, tzinfo=UTC),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=30)},
):
    DataflowMicroBatchOperator(task_id="read_new_files", pipeline=PIPELINE)

with DAG(
    "orders_report",
    schedule=CronDataIntervalTimetable("@hourly", "UTC"),
    start_date=datetime(2026, 3, 2, tzinfo=UTC),
    catchup=False,
):
    complete = WatermarkSensor(
        task_id="complete",
        pipeline=PIPELINE,
        percentile=97,
        target="{{ data_interval_end }}",
        deferrable=True,
    )
    complete >> report("{{ data_interval_start }}", "{{ data_interval_end }}")
