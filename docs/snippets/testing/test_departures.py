from departures import departures

from airflow_dataflow_provider.testing.panes import assert_panes, pane


def test_an_hour_is_published_on_time_and_corrected_once(dataflow_stream):
    stream = (
        dataflow_stream(departures)
        .advance_processing_time("10:05")
        .add(("JFK", 4.0, "09:50"), ("JFK", 6.0, "09:55"))  # key, value, event time
        .advance_watermark("10:00")
        .add(("JFK", 20.0, "09:40"))  # late, but within the allowed lateness
        .advance_watermark("11:00")
    )
    assert_panes(
        stream.run(),
        [
            pane("JFK", "09:00", "10:00", flights=2, mean_delay=5.0, pane_timing="ON_TIME"),
            pane("JFK", "09:00", "10:00", flights=3, mean_delay=10.0, pane_timing="LATE"),
        ],
    )
