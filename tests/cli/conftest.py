"""The command line in this process, on files and states of its own."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider.__main__ import main


@dataclass(frozen=True, slots=True)
class Said:
    """What a command answered."""

    status: int
    out: str
    err: str

    @property
    def code(self) -> str:
        """The stable code of the error that it told."""
        assert self.err.startswith("["), self.err
        return self.err[1:].partition("]")[0]

    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Said]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line; tracebacks that it keeps are in ``tmp_path``."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def run(*arguments: str | Path) -> Said:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return Said(status, told.out, told.err)

    return run


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Writes a module of pipelines, under a name that no other has."""
    path, modules = list(sys.path), set(sys.modules)

    def write(code: str) -> Path:
        file = tmp_path / f"pipelines_{uuid.uuid4().hex}.py"
        file.write_text(f"from airflow_dataflow_provider import *\n{code}\n")
        return file

    yield write
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.startswith("pipelines_"):
            del sys.modules[name]


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")
