"""The world itself: it does as its script says, the same each time."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from airflow_dataflow_provider.progress.store.store import Store
from tests.simulate import scripts, search
from tests.simulate.disk import Disk
from tests.simulate.disk_store import SCHEME
from tests.simulate.drawing import draw
from tests.simulate.faults import KINDS, SimulatedKill
from tests.simulate.pipelines import draw_pipeline, read_pipeline, written
from tests.simulate.scheduler import HOUR, Scheduler
from tests.simulate.script import Go, Offer, Pass, Script, Start, Wait
from tests.simulate.search import Found
from tests.simulate.shrinking import SIMPLER, shrink
from tests.simulate.stage import staged
from tests.simulate.world import Outcome, play


def test_the_same_number_gives_the_same_world_call_by_call() -> None:
    first, again = play(draw(7)), play(draw(7))
    assert first.trace
    assert first == again


def test_another_schedule_gives_another_order_of_calls() -> None:
    script = scripts.TWO_DRIVERS
    assert play(script).trace != play(replace(script, schedule=script.schedule + 1)).trace


@pytest.mark.parametrize("number", range(5))
def test_a_script_can_be_read_back_as_it_is_printed(number: int) -> None:
    from tests.simulate import script as names

    script = draw(number)
    assert eval(script.written(), vars(names)) == script


@pytest.mark.parametrize("number", range(5))
def test_a_pipeline_can_be_read_back_as_it_is_printed(number: int) -> None:
    pipeline = draw_pipeline(number)
    assert read_pipeline(written(pipeline)).shape() == pipeline.shape()


def test_a_process_that_is_killed_does_nothing_more() -> None:
    world = Scheduler(0, 0)
    process = world.process("victim", faults=((2, "kill"),))
    with staged(world):
        store = Store.open(f"{SCHEME}state")

        def write() -> None:
            store.write("one", b"")
            try:
                store.write("two", b"")
            except BaseException:
                store.write("three", b"")
                raise

        world.spawn(process, write, is_main=True)
        world.go(lambda: False, calls=100)
    assert world.state.names("state") == ["one"]
    assert not process.alive
    assert world.faults.counts["kill"] == 1


def test_a_process_that_pauses_goes_on_an_hour_later_where_it_was() -> None:
    world = Scheduler(0, 0)
    with staged(world):
        store = Store.open(f"{SCHEME}state")
        world.spawn(world.process("sleeper", faults=((1, "pause"),)), lambda: store.write("late", b""), is_main=True)
        world.go(lambda: False, calls=100)
    assert world.state.files["state/late"].modified >= HOUR


def test_a_write_can_arrive_after_its_writer_was_told_that_it_failed() -> None:
    world = Scheduler(0, 0)
    world.powerless_disk = False
    process = world.process("writer", faults=((1, "write late"),))
    with staged(world):
        store = Store.open("simulated://state/of")
        world.spawn(process, lambda: store.write("late", b"there"), is_main=True)
        world.go(lambda: not process.alive)
        assert "STATE_STORAGE" in str(process.error)
        assert not world.state.files
        world.pass_time(HOUR)
    assert world.state.files["state/of/late"].data == b"there"


def test_a_power_cut_takes_only_what_was_not_synced() -> None:
    disk = Disk()
    disk.put("state/document", b"", 0)
    disk.put("state/data/synced", b"", 0, synced=False)
    disk.sync("state/data")
    for number in range(20):
        disk.put(f"state/data/{number}", b"", 0, synced=False)
    lost = disk.lose_unsynced(random.Random(0))
    assert 0 < lost < 20
    assert {"state/document", "state/data/synced"} <= disk.files.keys()
    assert len(disk.names("state/data")) == 21 - lost
    assert disk.lose_unsynced(random.Random(0)) == 0


def test_a_failing_script_shrinks_to_what_fails() -> None:
    guilty = Offer("guilty.parquet", ((1.0, "a", 1, 1, 0.5), (2.0, "b", 1, 1, 0.5)))
    script = Script(
        written(draw_pipeline(0)),
        (Pass(1.0), Go(1), guilty, Start("a", "batch", skew=3.0, faults=((1, "kill"), (2, "pause"))), Wait()),
        schedule=7,
    )

    def run(candidate: Script) -> Outcome:
        offered = any(isinstance(step, Offer) for step in candidate.steps)
        started = any(isinstance(step, Start) and (2, "pause") in step.faults for step in candidate.steps)
        return Outcome(0, 0, {}, {}, "Wrong: it is lost: 12" if offered and started else None)

    smaller = shrink(script, "Wrong: it is lost: 7", run=run)
    assert smaller == Script(
        SIMPLER, (Offer("guilty.parquet", ((1.0, "a", 1, 1, 0.5),)), Start("a", "batch", faults=((2, "pause"),)))
    )


def test_a_report_says_what_was_injected_and_what_was_not(tmp_path: Path) -> None:
    found = Found(worlds=3)
    found.faults["kill"] = 2
    found.write(tmp_path / "build" / "simulate.json", seed=5)
    report = json.loads((tmp_path / "build" / "simulate.json").read_text())
    assert (report["worlds"], report["seed"]) == (3, 5)
    assert report["faults"]["kill"] == 2
    assert set(report["faults"]) == set(KINDS)
    assert "kill" not in found.never_injected
    assert "pause" in found.never_injected


def test_a_search_goes_on_with_new_processes_when_the_old_ones_have_had_their_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "CHUNK", 1)
    monkeypatch.setattr(search, "CHUNKS_A_PROCESS", 1)
    assert sum(found.worlds for found in search.search(seed=1, worlds=2, jobs=1)) == 2


def test_no_handler_of_errors_catches_a_kill() -> None:
    assert not issubclass(SimulatedKill, Exception)
