"""The short version of ``make crash``: one kill a mode. ``test_killed_parts.py`` has micro-batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.campaign import Campaign

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["streaming", "interval"])
def test_a_driver_that_is_killed_leaves_what_the_next_one_completes(mode: str, tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, mode, files=12, rows=6_000, seed=1, in_this_process=True)
    campaign.disturb(kills=1)
    assert campaign.compare() > 0
    assert len(campaign.kills) == 1
