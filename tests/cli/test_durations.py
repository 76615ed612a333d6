from __future__ import annotations

import pytest

from airflow_dataflow_provider.cli.durations import coarse
from airflow_dataflow_provider.model.time import duration


@pytest.mark.parametrize(
    ("exact", "told"),
    [
        ("0s", "0s"),
        ("412us", "412us"),
        ("12ms 400us", "12ms"),
        ("1s 260ms", "1s300ms"),
        ("90s", "1m30s"),
        ("59m 59s 900ms", "1h"),
        ("21h 41m 20s", "21h41m"),
        ("3d 11h 59m", "3d12h"),
        ("-2m 10s", "-2m10s"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_units(exact: str, told: str) -> None:
    assert coarse(duration(exact)) == told
