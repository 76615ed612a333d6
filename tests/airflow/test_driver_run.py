from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from airflow_dataflow_provider.hooks.driver import DriverRun, forget_old_runs
from airflow_dataflow_provider.model.errors import StateError
from tests.airflow.conftest import until

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def python(code: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code)]


def start(run: DriverRun, code: str, *, grace: float = 0.0) -> bool:
    return run.launch(python(code), ENVIRONMENT, grace=grace)


def lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.fixture
def run(tmp_path: Path) -> DriverRun:
    return DriverRun(tmp_path / "run")


def test_a_run_that_was_never_started_neither_lives_nor_ended(run: DriverRun) -> None:
    assert not run.alive
    assert run.exit_code is None
    assert run.error() == "it printed nothing"
    run.end()


def test_the_output_and_the_exit_status_of_a_driver_outlive_it(run: DriverRun) -> None:
    assert start(run, "import sys; print('one'); print('two', file=sys.stderr, end=''); sys.exit(7)")
    lines = [line for lines in run.output(poll=0.01) for line in lines]
    assert sorted(lines) == ["one", "two"]
    assert run.exit_code == 7
    assert not run.alive


def test_a_run_that_lives_cannot_be_started_again(run: DriverRun) -> None:
    assert start(run, "import time; time.sleep(3600)")
    assert run.alive
    assert not start(run, "print('second')")
    run.end()
    until(lambda: not run.alive)
    assert "second" not in run.log.read_text()


def test_a_run_that_ended_can_be_started_again_and_keeps_the_log_of_the_time_before(run: DriverRun) -> None:
    start(run, "print('first'); raise SystemExit(3)")
    until(lambda: not run.alive)
    start(run, "print('second')")
    until(lambda: not run.alive)
    assert run.exit_code == 0
    assert run.log.read_text() == "second\n"
    assert Path(f"{run.log}.1").read_text() == "first\n"


def test_folders_of_runs_that_ended_long_ago_are_removed_and_no_others(tmp_path: Path) -> None:
    ended, living, young = (DriverRun(tmp_path / name) for name in ("ended", "living", "young"))
    for run in (ended, young):
        start(run, "print('done')")
        until(lambda run=run: not run.alive)
    start(living, "import time; time.sleep(3600)")
    (living.folder / "exit.json").write_text("{}")
    for run in (ended, living):
        os.utime(run.folder / "exit.json", (0, 0))
    forget_old_runs(tmp_path, older_than=86_400)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["living", "young"]
    living.end()
    until(lambda: not living.alive)


def test_a_driver_outlives_the_process_that_started_it_and_is_found_again(run: DriverRun, tmp_path: Path) -> None:
    # The starter is killed at once, as a worker is; what it started waits for the file.
    go_on = tmp_path / "go-on"
    driver = f"""
        import pathlib, time
        while not pathlib.Path({str(go_on)!r}).exists(): time.sleep(0.01)
        print("went on")
    """
    starter = f"""
        import os, signal, sys
        from pathlib import Path
        from airflow_dataflow_provider.hooks.driver import DriverRun
        DriverRun(Path({str(run.folder)!r})).launch({python(driver)!r}, dict(os.environ), grace=0)
        os.kill(0, signal.SIGKILL)
    """
    killed = subprocess.run(python(starter), start_new_session=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert run.alive
    go_on.touch()
    assert [line for lines in run.output(poll=0.01) for line in lines] == ["went on"]
    assert run.exit_code == 0


def test_ending_a_run_gives_the_driver_time_to_end_by_itself(run: DriverRun, tmp_path: Path) -> None:
    start(
        run,
        f"import pathlib, time\nwhile not pathlib.Path({str(tmp_path / 'stop')!r}).exists(): time.sleep(0.01)",
        grace=60,
    )
    run.end()
    (tmp_path / "stop").touch()
    until(lambda: not run.alive)
    assert run.exit_code == 0


def test_a_driver_that_ignores_everything_is_killed_with_all_that_it_started(run: DriverRun, tmp_path: Path) -> None:
    child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    code = f"""
        import pathlib, signal, subprocess, sys
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", {child!r}], process_group=0)
        pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
        print("ready", flush=True)
        child.wait()
    """
    start(run, code)
    until(lambda: "ready" in run.log.read_text())
    pid = int((tmp_path / "child").read_text())
    assert lives(pid)
    run.end()
    until(lambda: not run.alive)
    until(lambda: not lives(pid))
    assert run.exit_code == -signal.SIGKILL


def test_what_a_driver_leaves_behind_ends_with_it(run: DriverRun, tmp_path: Path) -> None:
    # As the Python process of a driver whose JVM died.
    code = f"""
        import pathlib, subprocess, sys
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"], process_group=0)
        pathlib.Path({str(tmp_path / "child")!r}).write_text(str(child.pid))
        import os; os._exit(1)
    """
    start(run, code)
    until(lambda: not run.alive)
    pid = int((tmp_path / "child").read_text())
    until(lambda: not lives(pid))
    assert run.exit_code == 1


def test_a_command_that_cannot_be_started_says_so(run: DriverRun) -> None:
    run.launch(["/no/such/spark-submit"], ENVIRONMENT, grace=0)
    until(lambda: not run.alive)
    assert run.exit_code == 127
    assert "/no/such/spark-submit" in run.error()


def test_the_error_is_what_the_driver_has_left_and_not_what_it_printed(run: DriverRun) -> None:
    error = StateError(
        "the state is another's", reason="two would mix", hint="another URL", code="STATE_OTHER_PIPELINE"
    )
    (run.folder.parent / "error.json").write_text(json.dumps(error.to_json()))
    start(
        run,
        f"""
        import os, shutil
        shutil.copy({str(run.folder.parent / "error.json")!r}, os.environ["DATAFLOW_ERROR_FILE"])
        print("[OWNER_HELD] a message of an earlier try, in the log")
        raise SystemExit(3)
        """,
    )
    until(lambda: not run.alive)
    assert (type(run.failure), run.error()) == (StateError, str(error))

    start(run, "raise SystemExit(3)")
    until(lambda: not run.alive)
    assert run.failure is None, "the error of one launch is not the next one's"


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '"text"'])
def test_an_error_file_of_another_kind_is_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "error.json").write_text(content)
    assert DriverRun(tmp_path).failure is None


def test_without_a_message_the_error_is_the_end_of_the_log(run: DriverRun) -> None:
    start(run, "for i in range(100): print('line', i)\nraise SystemExit(1)")
    until(lambda: not run.alive)
    assert run.error().splitlines()[-1] == "line 99"
    assert len(run.error().splitlines()) == 20
