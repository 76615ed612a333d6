from __future__ import annotations

import pytest

from airflow_dataflow_provider.model.errors import OwnershipError, StateError
from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.progress.requests.requests import (
    Request,
    acknowledge,
    pending,
    request_signal,
    request_stop,
)
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, SECOND, claim, make_identity


@pytest.fixture
def store(store: Store) -> Store:
    make_identity(store)
    return store


def test_requests_are_pending_in_order_until_they_are_taken(store: Store) -> None:
    driver = claim(store)
    drain = request_stop(store, NOON + 2 * SECOND, drain=True)
    stop = request_stop(store, NOON + SECOND)
    signal = request_signal(store, "publish", NOON + 3 * SECOND)
    assert [stop.kind, drain.kind, signal.kind, signal.signal] == ["stop", "drain", "signal", "publish"]
    assert pending(store) == [stop, drain, signal]
    acknowledge(store, drain, NOON, driver.token)
    assert pending(store) == [stop, signal]
    acknowledge(store, drain, NOON, driver.token)
    acknowledge(store, stop, NOON, driver.token)
    acknowledge(store, signal, NOON, driver.token)
    assert pending(store) == []


def test_nothing_is_pending_where_nothing_was_asked(store: Store) -> None:
    assert pending(store) == []


def test_a_stop_does_not_stop_the_driver_that_comes_after_the_one_it_was_meant_for(store: Store) -> None:
    first = claim(store)
    stop = request_stop(store, NOON + SECOND)
    assert pending(store) == [stop]
    second = claim(store, take_over=True)
    assert pending(store) == pending(store, token=second.token) == []
    assert pending(store, token=first.token) == [stop]


def test_a_stop_before_the_first_driver_stops_none(store: Store) -> None:
    request_stop(store, NOON)
    claim(store)
    assert pending(store) == []


def test_a_signal_waits_for_the_next_driver(store: Store) -> None:
    signal = request_signal(store, "publish", NOON)
    claim(store).release(NOON)
    claim(store)
    assert pending(store) == [signal]


def test_a_driver_cannot_take_a_stop_that_is_meant_for_another(store: Store) -> None:
    first = claim(store)
    claim(store, take_over=True)
    stop = request_stop(store, NOON)
    with pytest.raises(OwnershipError, match="addressed to claim 2, not to 1") as error:
        acknowledge(store, stop, NOON, first.token)
    assert error.value.code == "OWNER_FENCED"
    assert pending(store) == [stop]


def test_requests_of_the_same_moment_are_all_kept(store: Store) -> None:
    asked = [request_signal(store, name, NOON) for name in "abc"]
    assert sorted(pending(store), key=lambda request: request.signal or "") == asked


def test_nothing_can_be_asked_of_a_pipeline_that_is_not_there(url: str) -> None:
    nowhere = Store.open(f"{url}/nowhere")
    for ask in (lambda: request_stop(nowhere, NOON), lambda: request_signal(nowhere, "publish", NOON)):
        with pytest.raises(StateError) as error:
            ask()
        assert error.value.code == "STATE_ABSENT"
    assert nowhere.list("requests") == []


def test_a_signal_needs_a_name(store: Store) -> None:
    with pytest.raises(StateError):
        request_signal(store, "", NOON)
    with pytest.raises(StateError):
        request_stop(store, MAX_TIME)
    assert pending(store) == []


@pytest.mark.parametrize(
    "wrong", [("pause", None, 1), ("stop", "publish", 1), ("stop", None, None), ("signal", "a", 1)]
)
def test_a_request_that_makes_no_sense_is_refused(wrong: tuple[str, str | None, int | None]) -> None:
    kind, signal, token = wrong
    with pytest.raises(StateError):
        Request("id", kind, signal, token, NOON)  # type: ignore[arg-type]
