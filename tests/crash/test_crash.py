"""The short version of ``make crash``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.campaign import Campaign

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize("mode", ["micro-batch", "interval"])
def test_a_driver_that_is_killed_leaves_what_an_undisturbed_run_publishes(mode: str, tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, mode, files=12, rows=6_000, seed=1)
    campaign.disturb(kills=1)
    assert campaign.compare() > 0
    assert len(campaign.kills) == 1
