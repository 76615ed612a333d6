from orders import orders

from airflow_dataflow_provider import PaneLogReader, RuntimeMode
from airflow_dataflow_provider.spark.running.submit import Submission, run


def test_two_runs_an_hour_apart(dataflow_clock, dataflow_spark, tmp_path):
    state = str(tmp_path / "state")
    dataflow_clock.advance_to("2026-03-04T12:00:00Z")  # not before the orders arrived
    run(Submission(orders, RuntimeMode.MICRO_BATCH, state, now=dataflow_clock))
    dataflow_clock.advance("1h")
    run(Submission(orders, RuntimeMode.MICRO_BATCH, state, now=dataflow_clock))
    assert len(PaneLogReader(state).current())
