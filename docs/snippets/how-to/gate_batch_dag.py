from datetime import UTC, datetime

from airflow.sdk import DAG, CronDataIntervalTimetable

from airflow_dataflow_provider.sensors.watermark import WatermarkSensor

with DAG(
    "gated_on_the_nightly_batch",
    schedule=CronDataIntervalTimetable("0 3 * * *", "Europe/Vienna"),
    start_date=datetime(2025, 12, 1, tzinfo=UTC),
    catchup=False,
):
    WatermarkSensor(
        task_id="computed",
        pipeline="orders.py:orders",
        start="{{ data_interval_start }}",
        target="{{ data_interval_end }}",
        deferrable=True,
    )
