"""Worlds in which whatever can go wrong does, a few hundred of the same each time; ``make simulate`` plays others."""

from __future__ import annotations

import pytest

from tests.simulate.search import Found, search

FIRST, WORLDS = 1, 200

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> Found:
    found = Found()
    for some in search(FIRST, WORLDS, jobs=2):
        found.add(some)
    return found


def test_no_world_finds_a_row_lost_or_doubled_a_false_claim_or_an_error_without_a_code(found: Found) -> None:
    said = [f"world {each['seed']}: {each['failure']}\n{each['script']}" for each in found.failures]
    assert not said, "\n\n".join(said)


def test_every_kind_of_fault_was_really_injected(found: Found) -> None:
    assert found.worlds == WORLDS
    assert not found.never_injected


def test_most_runs_end_well_all_the_same(found: Found) -> None:
    assert found.codes["ended well"] > found.codes.total() / 2
