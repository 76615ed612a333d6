"""The short version of ``make crash``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.campaign import Campaign

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_driver_killed_twice_leaves_the_panes_of_an_undisturbed_run(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, files=12, rows=6_000, seed=1)
    campaign.undisturbed()
    campaign.disturb(kills=2)
    assert campaign.compare() > 0
    assert len(campaign.kills) == 2
