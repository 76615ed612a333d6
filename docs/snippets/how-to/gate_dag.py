from datetime import UTC, datetime

from airflow.sdk import DAG, CronDataIntervalTimetable, task

from airflow_dataflow_provider.sensors.watermark import WatermarkSensor


@task
def report(start: str, end: str) -> None:
    print(f"97 % of the orders from {start} to {end} are there")


with DAG(
    "gated_orders_report",
    schedule=CronDataIntervalTimetable("@hourly", "UTC"),
    start_date=datetime(2025, 12, 1, tzinfo=UTC),
    catchup=False,
):
    complete = WatermarkSensor(
        task_id="complete",
        pipeline="orders.py:orders",
        percentile=97,
        target="{{ data_interval_end }}",
        deferrable=True,
    )
    complete >> report("{{ data_interval_start }}", "{{ data_interval_end }}")
