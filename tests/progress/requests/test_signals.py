from __future__ import annotations

import logging

import pytest

from airflow_dataflow_provider import (
    AnyOf,
    AtPeriod,
    AtSignal,
    Count,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    SequenceOf,
    StateError,
    SubmissionError,
)
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.requests import signals
from airflow_dataflow_provider.progress.requests.requests import pending, remove, request_signal, request_stop
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.samples import NOON, SECOND, claim, make_identity, plan, record

KNOWN = frozenset({"publish", "close"})


@pytest.fixture
def store(store: Store) -> Store:
    make_identity(store, signals=KNOWN)
    return store


def drop(store: Store, name: str) -> None:
    store.write(f"signals/{name}", b"")


def raised(store: Store, at: int = NOON) -> list[str | None]:
    return [request.signal for request in signals.raised(store, KNOWN, at)]


def test_a_pipeline_listens_to_the_signals_of_all_its_triggers() -> None:
    trigger = SequenceOf(AnyOf(AtSignal("early"), AtPeriod("1m")), Repeat(AtSignal("publish")))
    grouped = Pipeline("p", Files("a/*.parquet", event_time="t")).group_by_key_and_window(
        key="k", window=FixedWindows("1h"), trigger=trigger
    )
    assert signals.listened_to(grouped.combine(rows=Count())) == {"early", "publish"}
    assert signals.listened_to(grouped.pipeline) == frozenset()


def test_a_raised_signal_waits_until_it_is_forgotten(store: Store) -> None:
    first = request_signal(store, "publish", NOON)
    second = request_signal(store, "close", NOON + SECOND)
    assert signals.raised(store, KNOWN, NOON) == [first, second]
    signals.forget(store, [first.id])
    signals.forget(store, [first.id])
    assert signals.raised(store, KNOWN, NOON) == [second]


def test_a_file_is_a_signal_once(store: Store) -> None:
    drop(store, "publish")
    [request] = signals.raised(store, KNOWN, NOON)
    assert (request.signal, request.requested_at) == ("publish", NOON)
    assert store.list("signals") == []
    assert signals.raised(store, KNOWN, NOON + SECOND) == [request]
    signals.forget(store, [request.id])
    assert raised(store) == []


def test_a_file_that_comes_again_is_a_signal_again(store: Store) -> None:
    for _ in range(2):
        drop(store, "publish")
        [request] = signals.raised(store, KNOWN, NOON)
        signals.forget(store, [request.id])


def test_a_crash_between_request_and_removal_of_the_file_makes_no_second_signal(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop(store, "publish")
    with monkeypatch.context() as patched:
        patched.setattr(type(store), "delete", crash)
        with pytest.raises(CrashError):
            signals.raised(store, KNOWN, NOON)
    assert store.list("signals") == ["publish"]
    assert raised(store) == ["publish"]
    assert store.list("signals") == []


def test_a_signal_that_waits_already_is_not_raised_twice_by_its_file(store: Store) -> None:
    request = request_signal(store, "publish", NOON)
    drop(store, "publish")
    assert signals.raised(store, KNOWN, NOON) == [request]
    assert store.list("signals") == []


def test_a_file_of_another_name_stays_and_is_told_of(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    drop(store, "pubish")
    with caplog.at_level(logging.WARNING):
        assert raised(store) == []
    assert store.list("signals") == ["pubish"]
    assert store.child("signals/pubish") in caplog.text


def test_a_stop_is_no_signal(store: Store) -> None:
    claim(store)
    stop = request_stop(store, NOON)
    assert raised(store) == []
    assert pending(store) == [stop]


def test_a_pipeline_that_listens_to_nothing_does_not_look(store: Store) -> None:
    drop(store, "publish")
    assert signals.raised(store, frozenset(), NOON) == []
    assert store.list("signals") == ["publish"]


def test_a_signal_that_nobody_listens_to_is_refused_with_the_names_that_are_known(store: Store) -> None:
    with pytest.raises(SubmissionError) as error:
        request_signal(store, "pubish", NOON)
    assert (error.value.code, error.value.hint) == ("SUBMIT_SIGNAL", "raise one of close, publish")
    assert pending(store) == []


def test_a_state_of_before_signals_takes_any_name(url: str) -> None:
    old = Store.open(f"{url}/old")
    document = make_identity(old).to_json()
    assert "signals" not in document
    standing = identity.load(old)
    assert standing is not None
    assert standing.signals is None
    remove(old, [request_signal(old, "anything", NOON).id])
    assert pending(old) == []


def test_the_identity_keeps_the_names(store: Store) -> None:
    standing = identity.load(store)
    assert standing is not None
    assert standing.signals == KNOWN


def test_a_signal_needs_a_state(url: str) -> None:
    with pytest.raises(StateError) as error:
        request_signal(Store.open(f"{url}/nowhere"), "publish", NOON)
    assert error.value.code == "STATE_ABSENT"


class CrashError(Exception):
    """Where a driver died."""


def crash(*_: object, **__: object) -> None:
    raise CrashError


def test_plans_and_commits_keep_the_signals_of_their_clock() -> None:
    from dataclasses import replace

    quiet, loud = plan(1), plan(1, requests=("a", "b"))
    loud = replace(loud, clock=replace(loud.clock, signals=KNOWN))
    assert "requests" not in quiet.to_json()
    assert "signals" not in quiet.to_json()["clock"]
    for written in (quiet, loud):
        assert type(written).from_json(written.to_json()) == written
    done = record(1, clock=loud.clock)
    assert type(done).from_json(done.to_json()).clock.signals == KNOWN
