"""What a profile says of a function: the time in it and in the libraries below it, without other functions of ours."""

from __future__ import annotations

from typing import Any

import pytest

from tests.benchmarks.profiling import Function, _shares

FOLD: Function = ("/lib/airflow_dataflow_provider/spark/kernel.py", 10, "fold")
READ: Function = ("/lib/airflow_dataflow_provider/spark/sources/reading.py", 20, "read")
AGG: Function = ("/lib/polars/frame.py", 30, "agg")
SORT: Function = ("/lib/polars/frame.py", 40, "sort")
SERVE: Function = ("/lib/pyspark/worker.py", 50, "main")


def entry(own: float, whole: float, **callers: tuple[Function, float]) -> tuple[Any, ...]:
    return 1, 1, own, whole, {caller: (1, 1, seconds, seconds) for caller, seconds in callers.values()}


def test_a_function_is_charged_with_the_libraries_below_it_and_not_with_the_other_functions_of_ours() -> None:
    functions = {
        SERVE: entry(1, 10),
        FOLD: entry(1, 9, by_serve=(SERVE, 9)),
        READ: entry(3, 4, by_fold=(FOLD, 4)),
        AGG: entry(3, 3, by_fold=(FOLD, 3)),
        SORT: entry(2, 2, by_fold=(FOLD, 1), by_read=(READ, 1)),
    }
    fold, read, others = _shares(functions, 10)
    assert (fold.what, fold.seconds, fold.share, fold.mostly) == ("spark/kernel.py:10 fold", 5, 0.5, "agg 3.00 s")
    assert (read.what, read.seconds, read.mostly) == ("spark/sources/reading.py:20 read", 4, "sort 1.00 s")
    assert others.seconds == 1
    assert sum(share.share for share in (fold, read, others)) == pytest.approx(1)
