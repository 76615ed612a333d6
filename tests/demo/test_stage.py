"""What the demo runs on: its processes, its folder, its replay, its talk with Airflow."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from airflow_dataflow_provider.model.time import from_iso
from dags_examples.demo import airflow_api
from dags_examples.demo.airflow_api import AirflowApi
from dags_examples.demo.airflow_server import free_ports
from dags_examples.demo.demo_error import DemoError
from dags_examples.demo.live_replay import LiveReplay
from dags_examples.demo.places import Places
from dags_examples.demo.processes import Marked
from dags_examples.replay import Replay

SLEEPER = "import signal, time; {ignore}; print('up', flush=True); time.sleep(600)"
IGNORE = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@contextmanager
def sleeping(marked: Marked, *, stubborn: bool = False) -> Iterator[subprocess.Popen[str]]:
    """A marked process that does nothing, in a session of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", SLEEPER.format(ignore=IGNORE if stubborn else "pass")],
        env=marked.environment,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


class TestProcesses:
    def test_a_marked_process_is_found_wherever_it_went_and_no_other_is(self) -> None:
        mine, other = Marked(), Marked()
        with sleeping(mine) as process, sleeping(other):
            assert [found.pid for found in mine.living()] == [process.pid]

    @pytest.mark.parametrize("stubborn", [False, True])
    def test_what_does_not_end_is_ended_and_named(self, stubborn: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        marked = Marked()
        monkeypatch.setattr("dags_examples.demo.processes.GRACE_SECONDS", 0.1)
        with sleeping(marked, stubborn=stubborn) as process:
            (named,) = marked.end(patience=0)
            assert str(process.pid) in named
            assert not psutil.pid_exists(process.pid)

    def test_where_nothing_runs_nothing_is_ended(self) -> None:
        assert Marked().end(patience=0) == []


class TestPlaces:
    def test_the_folder_is_emptied_and_belongs_to_one_demo(self, tmp_path: Path) -> None:
        places = Places(tmp_path / "demo")
        (places.flights / "deep").mkdir(parents=True)
        (places.out / "old.json").touch()
        with places.taken(Marked()):
            assert [path.name for path in places.out.iterdir() if not path.name.startswith(".")] == []
            with pytest.raises(DemoError, match="another demo"), Places(places.out).taken(Marked()):
                pass
        with places.taken(Marked()):
            pass

    def test_what_a_killed_demo_has_left_running_is_ended(self, tmp_path: Path) -> None:
        places, killed = Places(tmp_path / "demo"), Marked()
        with sleeping(killed) as process:
            with pytest.raises(KeyboardInterrupt), places.taken(killed):
                raise KeyboardInterrupt
            with places.taken(Marked()):
                assert not psutil.pid_exists(process.pid)

    def test_the_end_of_a_tasks_last_attempt_is_readable(self, tmp_path: Path) -> None:
        places = Places(tmp_path)
        folder = places.airflow / "logs" / "dag_id=d" / "run_id=r" / "task_id=t"
        folder.mkdir(parents=True)
        error = {"exc_type": "AirflowException", "exc_value": "[DATA_REJECTED] too many"}
        entries = [
            {"level": "info", "event": "one"},
            {"level": "info", "event": "two"},
            {"level": "error", "event": "Task failed", "error_detail": [error]},
        ]
        (folder / "attempt=1.log").write_text("\n".join([*map(json.dumps, entries), "no JSON"]))
        assert places.task_log("d", "r", "t", lines=3).splitlines() == [
            f"the end of {folder / 'attempt=1.log'}:",
            "info    two",
            "error   Task failed",
            "        AirflowException: [DATA_REJECTED] too many",
            "no JSON",
        ]
        assert "no log" in places.task_log("d", "r", "other")


class TestLiveReplay:
    @pytest.fixture
    def replay(self, tmp_path: Path) -> Replay:
        return Replay(tmp_path, from_iso("2013-01-01T05:00:00Z"), from_iso("2013-01-02T05:00:00Z"))

    def written(self, replay: Replay) -> list[int]:
        return [end for end in replay.files if replay.path(end).exists()]

    def test_it_holds_until_it_is_told_to_go_on(self, replay: Replay) -> None:
        hold = from_iso("2013-01-01T20:00:00Z")
        before = [end for end in replay.files if end <= hold]
        live = LiveReplay(replay, 1e9, hold)
        live.start()
        while len(self.written(replay)) < len(before):
            assert live.is_alive()
        assert live.is_alive()
        assert self.written(replay) == before
        live.go_on()
        live.join(30)
        assert live.failure is None
        assert self.written(replay) == list(replay.files)

    def test_it_stops_in_the_middle(self, replay: Replay) -> None:
        live = LiveReplay(replay, 0.001, max(replay.files))
        live.start()
        live.stop()
        assert not live.is_alive()
        assert self.written(replay) == []

    def test_its_failure_is_kept_for_whoever_waits(self, replay: Replay) -> None:
        live = LiveReplay(replay, 1e9, max(replay.files))
        list(replay.files)
        replay.out.joinpath("_replay.json").unlink()
        replay.out.rmdir()
        live.start()
        live.go_on()
        live.join(30)
        assert isinstance(live.failure, OSError)


class TestAirflowApi:
    @pytest.fixture
    def answering(self, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[AirflowApi, list[httpx.Request]]]:
        """An API that gives these answers, one after the other; an exception is raised."""
        monkeypatch.setattr(airflow_api.time, "sleep", lambda _: None)

        def make(*answers: httpx.Response | Exception) -> tuple[AirflowApi, list[httpx.Request]]:
            left, requests = list(answers), list[httpx.Request]()

            def answer(request: httpx.Request) -> httpx.Response:
                requests.append(request)
                given = left.pop(0)
                if isinstance(given, Exception):
                    raise given
                return given

            client = httpx.Client(base_url="http://airflow", transport=httpx.MockTransport(answer))
            return AirflowApi(client), requests

        return make

    def test_a_busy_server_is_asked_again(self, answering: Any) -> None:
        api, requests = answering(
            httpx.ReadTimeout("slow"),
            httpx.Response(503, text="locked"),
            httpx.Response(200, json={"state": "running"}),
        )
        assert api.run_state("dag", "run") == "running"
        assert len(requests) == 3

    def test_a_run_that_was_triggered_after_all_is_no_error(self, answering: Any) -> None:
        api, requests = answering(httpx.ReadTimeout("slow"), httpx.Response(409, text="there is one"))
        api.trigger("dag", "run", ("2013-01-01T00:00:00Z", "2013-01-02T00:00:00Z"))
        assert json.loads(requests[-1].content) == {
            "dag_run_id": "run",
            "logical_date": "2013-01-01T00:00:00Z",
            "data_interval_start": "2013-01-01T00:00:00Z",
            "data_interval_end": "2013-01-02T00:00:00Z",
        }

    def test_a_refusal_is_told_at_once_with_the_servers_words(self, answering: Any) -> None:
        api, requests = answering(httpx.Response(404, text="no such DAG"))
        with pytest.raises(DemoError) as refused:
            api.pause("dag")
        assert "no such DAG" in refused.value.log
        assert len(requests) == 1

    def test_tasks_come_in_the_order_of_their_start(self, answering: Any) -> None:
        def task(run_id: str, started: str | None) -> dict[str, Any]:
            task = {"dag_run_id": run_id, "task_id": "count", "state": "success", "try_number": 1}
            return {**task, "start_date": started}

        listed = [task("c", None), task("b", "2026-01-01T00:00:02Z"), task("a", "2026-01-01T00:00:01Z")]
        api, _ = answering(httpx.Response(200, json={"task_instances": listed}))
        assert [found.run_id for found in api.tasks("dag")] == ["a", "b", "c"]


def test_free_ports_are_different() -> None:
    assert len(set(free_ports(20))) == 20
