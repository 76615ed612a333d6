from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_dataflow_provider.progress.ownership import process
from airflow_dataflow_provider.progress.ownership.process import Process

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def child() -> Iterator[tuple[subprocess.Popen[str], Process]]:
    """A process that runs, and how it knows itself. Its name holds a bracket and a blank."""
    script = (
        "import ctypes, dataclasses, json, sys\n"
        "ctypes.CDLL(None).prctl(15, b'a) Z (b')\n"
        "from airflow_dataflow_provider.progress.ownership.process import Process\n"
        "print(json.dumps(dataclasses.astuple(Process.current())), flush=True)\n"
        "sys.stdin.read()\n"
    )
    popen = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert popen.stdout is not None
    import json

    yield popen, Process(*json.loads(popen.stdout.readline()))
    popen.kill()
    popen.communicate()


def test_a_process_that_runs_is_not_gone(child: tuple[subprocess.Popen[str], Process]) -> None:
    assert not child[1].is_gone()
    assert not Process.current().is_gone()


def test_a_process_that_was_killed_is_gone_even_while_its_parent_has_not_noticed(
    child: tuple[subprocess.Popen[str], Process],
) -> None:
    popen, known = child
    popen.kill()
    os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)  # it is a zombie now
    assert known.is_gone()
    popen.wait()
    assert known.is_gone()


def test_a_number_that_was_given_to_another_process_is_not_taken_for_the_first() -> None:
    current = Process.current()
    assert current.started is not None
    assert dataclasses.replace(current, started=current.started - 1).is_gone()


@pytest.mark.parametrize("elsewhere", [{"host": "another"}, {"boot": "another"}, {"boot": None}, {"started": None}])
def test_nothing_is_claimed_about_a_process_that_cannot_be_seen_from_here(elsewhere: dict[str, str | None]) -> None:
    current = Process.current()
    assert current.started is not None
    assert not dataclasses.replace(current, **{"started": current.started - 1, **elsewhere}).is_gone()


def test_nothing_is_claimed_where_there_is_no_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Process.current()
    monkeypatch.setattr(process, "_PROC", tmp_path)
    assert Process.current() == Process(before.host, None, before.pid, None)
    assert not Process.current().is_gone()
    assert not before.is_gone()
