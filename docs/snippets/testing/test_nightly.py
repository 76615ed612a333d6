import pytest
from departures import departures

from airflow_dataflow_provider.testing.panes import assert_panes, pane


@pytest.mark.parametrize("dataflow_engine", ["spark-batch"], indirect=True)
def test_the_nightly_batch(dataflow_stream):
    stream = dataflow_stream(departures).add(("JFK", 4.0, "09:50")).end_of_input()
    assert_panes(stream.run(), [pane("JFK", "09:00", "10:00", flights=1, mean_delay=4.0)])
