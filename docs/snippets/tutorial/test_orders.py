from orders import orders

from airflow_dataflow_provider import TestStream
from airflow_dataflow_provider.testing.panes import assert_panes, pane


def order(shop, amount, ordered_at):
    return {"shop": shop, "amount": amount, "ordered_at": ordered_at}


def test_an_hour_is_published_when_it_is_complete_and_again_when_an_order_is_late():
    panes = (
        TestStream(orders)
        .advance_processing_time("11:05")
        .add(order("Vienna", 12.0, "10:10"))
        .advance_watermark("11:00")
        .add(order("Vienna", 3.5, "10:40"))
        .advance_watermark("11:10")
        .run()
    )
    assert_panes(
        panes,
        [
            pane("Vienna", "10:00", "11:00", orders=1, turnover=12.0, pane_timing="ON_TIME"),
            pane("Vienna", "10:00", "11:00", orders=2, turnover=15.5, pane_timing="LATE"),
        ],
    )
