from departures import departures


def test_what_comes_after_a_day_is_set_aside(dataflow_stream):
    stream = (
        dataflow_stream(departures).advance_watermark("2013-01-02T10:00:00Z").add(("JFK", 20.0, "2013-01-01T09:40:00Z"))
    )
    outcome = stream.outcome()
    assert [element.element.row["dep_delay"] for element in outcome.expired] == [20.0]
    assert outcome.counts.expired == 1
