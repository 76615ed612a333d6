from __future__ import annotations

import dataclasses
import itertools
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_dataflow_provider.model.errors import DataError, OwnershipError, StateError
from airflow_dataflow_provider.progress.ownership.owner import (
    HEARTBEAT_TIMEOUT,
    Heart,
    OwnerInfo,
    Ownership,
    present_owner,
)
from airflow_dataflow_provider.progress.ownership.process import Process
from airflow_dataflow_provider.progress.store.store import Store
from tests.progress import claimant
from tests.progress.samples import NOON, SECOND, at_once, claim


def test_a_pipeline_that_was_never_claimed_has_no_owner(store: Store) -> None:
    assert present_owner(store) is None


def test_a_claim_names_its_process(store: Store) -> None:
    ownership = claim(store, mode="micro-batch", run_id="r")
    info = present_owner(store)
    assert info == ownership.info
    assert info is not None
    assert info.process == Process.current()
    assert (info.token, info.mode, info.run_id, info.claimed_at, info.state) == (
        1,
        "micro-batch",
        "r",
        NOON,
        "starting",
    )


def test_a_pipeline_that_is_driven_is_refused_naming_the_driver_and_the_way_out(store: Store) -> None:
    claim(store).heartbeat(NOON + SECOND, application_id="app-7")
    with pytest.raises(OwnershipError) as error:
        claim(store, NOON + 2 * SECOND)
    process = Process.current()
    assert error.value.code == "OWNER_HELD"
    for fact in (
        process.host,
        str(process.pid),
        "app-7",
        "streaming",
        "run-1",
        "since 2013-01-01T12:00:00Z",
        "last heartbeat 2013-01-01T12:00:01Z",
    ):
        assert fact in error.value.what
    assert "--take-over" in error.value.hint


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_a_pipeline_that_was_released_can_be_claimed_at_once(store: Store, state: str) -> None:
    claim(store).release(NOON, state, "said so")  # type: ignore[arg-type]
    info = present_owner(store)
    assert info is not None
    assert (info.state, info.detail) == (state, "said so")
    assert claim(store).token == 2


def test_a_driver_is_lost_once_it_was_silent_for_longer_than_it_said(store: Store) -> None:
    claim(store, heartbeat_timeout=5 * SECOND).heartbeat(NOON + SECOND)
    with pytest.raises(OwnershipError):
        claim(store, NOON + 6 * SECOND)
    assert claim(store, NOON + 6 * SECOND + 1).token == 2


def test_a_claim_without_a_heartbeat_counts_from_when_it_was_made(store: Store) -> None:
    claim(store)
    store.delete("owners/00000/00000001.beat.json")
    with pytest.raises(OwnershipError):
        claim(store, NOON + HEARTBEAT_TIMEOUT)
    assert claim(store, NOON + HEARTBEAT_TIMEOUT + 1).token == 2


def test_a_recycled_process_number_is_not_taken_for_a_living_driver(store: Store) -> None:
    claim(store)
    path = "owners/00000/00000001.json"
    document = store.read_json(path)
    store.write_json(path, {**document, "process_started": document["process_started"] - 1})
    assert claim(store).token == 2


def test_taking_over_fences_a_driver_that_lives(store: Store) -> None:
    first = claim(store)
    first.check()
    second = claim(store, NOON + SECOND, run_id="run-2", take_over=True)
    second.check()
    with pytest.raises(OwnershipError, match=r"run 'run-2' \(claim 2") as error:
        first.check()
    assert error.value.code == "OWNER_FENCED"


def test_a_driver_that_was_fenced_twice_learns_of_the_newest(store: Store) -> None:
    first = claim(store)
    claim(store, run_id="run-2", take_over=True)
    claim(store, run_id="run-3", take_over=True)
    with pytest.raises(OwnershipError, match="run-3"):
        first.check()


def test_of_drivers_that_claim_at_once_one_wins_and_the_others_name_it(store: Store) -> None:
    for attempt in range(10):
        results = at_once(lambda number, attempt=attempt: claim(store, run_id=f"run-{attempt}-{number}"))
        winners = [result for result in results if isinstance(result, Ownership)]
        assert [winner.token for winner in winners] == [attempt + 1]
        losers = [result for result in results if isinstance(result, OwnershipError)]
        assert len(losers) == 7
        for loser in losers:
            assert loser.code == "OWNER_HELD"
            assert f"'{winners[0].info.run_id}'" in loser.what
        winners[0].release(NOON)


def test_of_drivers_that_take_over_at_once_only_the_newest_is_not_fenced(store: Store) -> None:
    present = claim(store)
    results = at_once(lambda number: claim(store, run_id=f"over-{number}", take_over=True))
    owners = [present, *(result for result in results if isinstance(result, Ownership))]
    assert sorted(owner.token for owner in owners) == list(range(1, len(owners) + 1))
    for owner in owners:
        if owner.token == len(owners):
            owner.check()
        else:
            with pytest.raises(OwnershipError):
                owner.check()


@pytest.fixture
def drivers(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Three processes, ready to claim the same state."""
    command = [sys.executable, claimant.__file__, str(tmp_path / "state")]
    processes = [
        subprocess.Popen([*command, f"run-{number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for number in range(3)
    ]
    for process in processes:
        assert _line(process) == "ready"
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def test_of_processes_that_claim_at_once_one_wins(drivers: list[subprocess.Popen[str]]) -> None:
    for process in drivers:
        _go(process)
    assert sorted(_line(process) for process in drivers) == ["OWNER_HELD", "OWNER_HELD", "token 1"]


def test_a_killed_driver_is_replaced_at_once_without_waiting_for_its_heartbeat(
    drivers: list[subprocess.Popen[str]],
) -> None:
    first, second, third = drivers
    _go(first)
    assert _line(first) == "token 1"
    _go(second)
    assert _line(second) == "OWNER_HELD"
    first.kill()
    first.wait()
    _go(third)
    assert _line(third) == "token 2"


def test_a_heartbeat_keeps_what_it_does_not_say(store: Store) -> None:
    ownership = claim(store)
    ownership.heartbeat(NOON + 1, application_id="app-7", ui="http://driver:4040", detail="warm")
    ownership.heartbeat(NOON + 2)
    ownership.touch(NOON + 3)
    info = present_owner(store)
    assert info is not None
    assert (info.heartbeat_at, info.state, info.application_id, info.ui, info.detail) == (
        NOON + 3,
        "running",
        "app-7",
        "http://driver:4040",
        "warm",
    )


def test_a_touch_does_not_make_a_starting_driver_run(store: Store) -> None:
    ownership = claim(store)
    ownership.touch(NOON + 1)
    assert ownership.info.state == "starting"


def test_no_late_heartbeat_raises_the_dead(store: Store) -> None:
    ownership = claim(store)
    ownership.release(NOON + 1, "failed", "out of memory")
    ownership.touch(NOON + 2)
    ownership.heartbeat(NOON + 3)
    ownership.release(NOON + 4, "stopped")
    info = present_owner(store)
    assert info is not None
    assert (info.state, info.heartbeat_at, info.detail) == ("failed", NOON + 1, "out of memory")


def test_the_error_that_ended_a_driver_is_read_back_with_its_class_and_code(store: Store) -> None:
    claim(store).release(NOON, "failed", DataError("too many", reason="why", hint="what to do", code="DATA_REJECTED"))
    info = present_owner(store)
    assert info is not None
    assert isinstance(info.error, DataError)
    assert (info.error.code, str(info.error)) == ("DATA_REJECTED", info.detail)


def test_claims_go_on_after_a_thousand(store: Store) -> None:
    claim(store).release(NOON)
    document = {**store.read_json("owners/00000/00000001.json"), "token": 999}
    store.write_json("owners/00000/00000999.json", document)
    first = claim(store, take_over=True)
    assert first.token == 1000
    assert claim(store, take_over=True).token == 1001
    with pytest.raises(OwnershipError):
        first.check()


def test_an_owner_is_read_back_exactly(store: Store) -> None:
    ownership = claim(store)
    ownership.heartbeat(NOON + 1, application_id="app-7", detail="warm")
    assert OwnerInfo.from_json(ownership.info.to_json()) == ownership.info


@pytest.mark.parametrize("wrong", [{"mode": "nightly"}, {"token": 0}, {"heartbeat_timeout": 0}, {"state": "asleep"}])
def test_an_owner_that_makes_no_sense_is_refused(store: Store, wrong: dict[str, object]) -> None:
    info = claim(store).info
    with pytest.raises(StateError) as error:
        dataclasses.replace(info, **wrong)
    assert error.value.code == "STATE_BAD_RECORD"


def test_a_heart_beats_while_the_job_works(store: Store) -> None:
    ownership, ticks, third = claim(store), itertools.count(1), threading.Event()

    def clock() -> int:
        tick = next(ticks)
        if tick > 3:  # the third beat is written before the fourth begins
            third.set()
        return NOON + tick

    with Heart(ownership, every=1_000, clock=clock) as heart:
        assert third.wait(30)
        heart.check()
    info = present_owner(store)
    assert info is not None
    assert info.heartbeat_at >= NOON + 3
    assert info.state == "starting"


def test_a_heart_remembers_that_the_job_was_fenced(store: Store) -> None:
    ownership = claim(store)
    with Heart(ownership, every=1_000) as heart:
        heart.check()
        claim(store, run_id="run-2", take_over=True)
        heart._thread.join(30)  # it ends once it has seen
        for _ in range(2):
            with pytest.raises(OwnershipError, match="run-2") as error:
                heart.check()
            assert error.value.code == "OWNER_FENCED"
    assert ownership.info.state == "fenced"


def test_a_heart_that_cannot_write_tries_again_and_lets_the_job_work(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    beats, healed = itertools.count(), threading.Event()

    class Unsteady(Ownership):
        def touch(self, now: int) -> None:
            if next(beats) < 2:
                raise OSError("the disk is full")
            super().touch(now)
            healed.set()

    ownership = Unsteady(store, claim(store).info)
    with caplog.at_level(logging.WARNING), Heart(ownership, every=1_000, clock=lambda: NOON + 9) as heart:
        assert healed.wait(30)
        heart.check()
    assert ownership.info.heartbeat_at == NOON + 9
    assert [entry.levelname for entry in caplog.records] == ["WARNING", "WARNING"]
