"""What a run has done, in a sentence."""

from __future__ import annotations

from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.log.row_counts import RowCounts
from airflow_dataflow_provider.progress.status.outcome import Outcome
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import make_identity, record


def test_reasons_of_rejected_rows_are_those_of_the_run_alone(store: Store) -> None:
    make_identity(store)
    log = EpochLog(store)
    log.commit(record(0, rows=RowCounts(5, rejected=2, reasons=(("at is null", 2),)), panes=0))
    before = read_status(store.url)
    log.commit(record(1, rows=RowCounts(7, rejected=3, reasons=(("at is not a time", 2), ("at is null", 1))), panes=0))
    outcome = Outcome.between(before, read_status(store.url))
    assert outcome.rows == RowCounts(7, rejected=3, reasons=(("at is not a time", 2), ("at is null", 1)))
    assert str(outcome).startswith(
        "published 0 panes from 7 rows (3 rejected) in 1 epoch; no watermark is known; state "
    )


def test_beyond_eight_reasons_are_counted_together() -> None:
    many = RowCounts(reasons=tuple((f"{number}", 1) for number in range(6)))
    more = RowCounts(reasons=tuple((f"{number}", 1) for number in range(4, 12)))
    assert (many + more).reasons[:2] == (("4", 2), ("5", 2))
    assert (many + more).reasons[-1] == ("other reasons", 4)
    assert dict((many + more + more).reasons)["other reasons"] >= 4
