"""The search is strong enough: it finds mistakes that are put back into the engine, each by itself."""

from __future__ import annotations

import pytest

from tests.simulate import mutants, scripts
from tests.simulate.mutants import MUTANTS, Mutant, worlds_needed
from tests.simulate.scripts import SCRIPTS
from tests.simulate.world import play

SHOWN_BY = {
    mutants.a_second_ledger_says_what_was_listed: scripts.DIES_BEFORE_ITS_PLAN,
    mutants.what_is_away_counts_as_read: scripts.INPUT_IS_AWAY_AT_A_RESTART,
    mutants.an_interval_that_died_stays_open: scripts.AN_INTERVAL_DIES,
    mutants.the_greatest_end_covers_all_before_it: scripts.A_GATE_BEFORE_THE_FIRST_INTERVAL,
    mutants.a_stop_looks_only_at_who_lives: scripts.A_STOP_WHILE_A_STREAM_SLEEPS,
    mutants.names_of_data_files_are_not_synced: scripts.POWER_IS_CUT_AFTER_AN_EPOCH,
    mutants.older_files_than_the_newest_are_passed_over: scripts.A_FILE_FROM_THE_FUTURE,
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_is_wrong_in_a_world_that_once_was_or_could_be(name: str) -> None:
    assert play(SCRIPTS[name]).failure is None


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_mistake_shows_in_the_script_that_is_about_it(mutant: Mutant) -> None:
    with mutant():
        assert play(SHOWN_BY[mutant]).failure is not None


@pytest.mark.slow
def test_a_search_finds_a_mistake_without_being_told_where() -> None:
    assert worlds_needed(mutants.a_second_ledger_says_what_was_listed, first=1, most=400) is not None
