from __future__ import annotations

from pathlib import Path

import pytest

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.store.local_store import LocalStore
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import SHAPE, at_once, make_identity, plan


def test_the_first_run_makes_the_state_and_the_next_finds_it(store: Store) -> None:
    assert identity.load(store) is None
    made = make_identity(store)
    assert made == make_identity(store) == identity.load(store)


def test_the_number_of_partitions_is_fixed_when_the_definition_is_pinned(store: Store) -> None:
    identity.pin(store, make_identity(store, partitions=4), b"")
    assert make_identity(store, partitions=16).partitions == 4


def test_the_state_of_another_pipeline_is_refused_naming_both(store: Store) -> None:
    make_identity(store, name="departures")
    with pytest.raises(StateError, match="'departures', not of 'arrivals'") as error:
        make_identity(store, name="arrivals")
    assert error.value.code == "STATE_OTHER_PIPELINE"


def test_a_definition_that_does_not_fit_is_refused_with_every_changed_part(store: Store) -> None:
    make_identity(store, shape={"key": "origin", "window": "FixedWindows('1h')", "lateness": "2h"})
    EpochLog(store).plan(plan(0))
    with pytest.raises(StateError) as error:
        make_identity(store, shape={"key": "origin", "window": "FixedWindows('5m')", "combiners": "Sum()"})
    assert error.value.code == "STATE_DEFINITION_CHANGED"
    for change in (
        "window: FixedWindows('1h') -> FixedWindows('5m')",
        "combiners: (none) -> Sum()",
        "lateness: 2h -> (none)",
    ):
        assert change in error.value.what
    assert "key" not in error.value.what
    assert "backfill" in error.value.hint


def test_before_it_is_pinned_nothing_stands_on_the_definition_and_then_it_stays(store: Store) -> None:
    first = make_identity(store)
    changed = {"shape": {"key": "carrier"}, "fingerprint": "f2", "partitions": 8}
    second = make_identity(store, **changed)
    assert (second.fingerprint, second.partitions, second.state_id) == ("f2", 8, first.state_id)
    assert identity.pinned_schema(store) is None
    assert identity.pin(store, second, b"types") == (second, b"types")
    assert identity.load(store) == second == make_identity(store, **changed)
    assert identity.pin(store, second, b"other types") == (second, b"types")
    assert identity.pinned_schema(store) == b"types"
    for again in (lambda: make_identity(store), lambda: identity.pin(store, first, b"types")):
        with pytest.raises(StateError) as error:
            again()
        assert error.value.code == "STATE_DEFINITION_CHANGED"
    assert identity.load(store) == second


def test_what_the_state_does_not_depend_on_may_change(store: Store) -> None:
    made, _ = identity.pin(store, make_identity(store), b"")
    assert (
        make_identity(store, fingerprint="f2", definition="Pipeline(... )", shape=dict(reversed(SHAPE.items()))) == made
    )


def test_a_state_of_a_newer_release_is_refused(store: Store) -> None:
    made = make_identity(store)
    store.write_json("pipeline.json", {"format_version": made.format_version + 1, "something": "else"})
    with pytest.raises(StateError, match="upgrade") as error:
        make_identity(store)
    assert error.value.code == "STATE_FORMAT"


@pytest.mark.parametrize("document", [{}, {"format_version": 2, "name": "departures"}])
def test_a_damaged_identity_is_unreadable(store: Store, document: dict[str, object]) -> None:
    store.write_json("pipeline.json", document)
    with pytest.raises(StateError, match="is missing") as error:
        identity.load(store)
    assert error.value.code == "STATE_UNREADABLE"


def test_runs_that_start_at_once_agree_on_one_state(store: Store) -> None:
    made = at_once(lambda _: make_identity(store))
    assert made == [identity.load(store)] * 8


def test_a_store_that_ignores_the_condition_of_a_create_is_found_out(tmp_path: Path) -> None:
    class Careless(LocalStore):
        def create(self, path: str, data: bytes) -> None:
            self.write(path, data)

    with pytest.raises(StateError, match="second writer") as error:
        make_identity(Careless(str(tmp_path)))
    assert error.value.code == "STATE_FILESYSTEM"


def test_a_pipeline_needs_a_name_and_a_partition(store: Store) -> None:
    for wrong in ({"name": ""}, {"partitions": 0}):
        with pytest.raises(StateError):
            make_identity(store, **wrong)
    assert not store.exists("pipeline.json")
