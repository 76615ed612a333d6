"""However a command ends, it has a code, an exit status and a few lines to say; no traceback fills the screen."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_dataflow_provider import DataflowError, EngineError
from airflow_dataflow_provider.cli import status as status_command
from airflow_dataflow_provider.cli.pipelines import load_pipeline
from tests.cli.conftest import Run, Said

Module = Callable[[str], Path]

BATCH = ("--mode", "batch", "--state", "nowhere")
PIPELINE = "Pipeline('p', Files('src/*.parquet', event_time='at'))"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def (", "SyntaxError: "),
        ("import nothing_there", "ModuleNotFoundError: No module named 'nothing_there'"),
        ("x = 1 / 0", "ZeroDivisionError: division by zero"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        (f"p = {PIPELINE}.group_by_key_and_window(window=FixedWindows('1h'))", "TypeError: "),
        (f"p = {PIPELINE}.combine(total=Sum('amount'))", "AttributeError: "),
        ("p = open('/no/such/file')", "FileNotFoundError: "),
    ],
)
@pytest.mark.parametrize("by_name", [False, True], ids=["by its path", "by its name"])
def test_a_module_that_fails_is_refused_with_the_line_that_failed(
    code: str, told: str, by_name: bool, command: Run, module: Module
) -> None:
    file = module(code)
    sys.path.insert(0, str(file.parent))
    said = command("run", f"{file.stem if by_name else file}:p", *BATCH)
    assert (said.status, said.code) == (2, "DEFINITION_LOAD")
    assert told in said.err
    assert f"Where: {file}:2" in said.err
    assert len(said.err.splitlines()) == 4


def test_a_refused_definition_is_told_with_its_line(command: Run, module: Module) -> None:
    file = module(f"p = {PIPELINE}.group_by_key_and_window(key=None, window=FixedWindows('1h'))")
    said = command("run", f"{file}:p", *BATCH)
    assert (said.status, said.code) == (2, "DEFINITION_KEY")
    assert said.err.endswith(f"Where: {file}:2, the pipeline 'p'\n")


def test_a_part_of_a_definition_that_is_refused_is_told_with_its_line(command: Run, module: Module) -> None:
    file = module("hourly = FixedWindows('1 hour and a bit')")
    said = command("run", f"{file}:p", *BATCH)
    assert said.err.endswith(f"Where: {file}:2, on the way to {file}:p\n")
    assert "airflow_dataflow_provider/" not in said.err


def test_a_submission_that_is_refused_names_the_line_that_names_the_pipeline(command: Run, module: Module) -> None:
    steps = "par_do(Vectorised(lambda frame: frame)).group_by_key_and_window(key='k', window=FixedWindows('1h'))"
    file = module(f"p = (\n    {PIPELINE}\n    .{steps}\n    .combine(n=Count())\n)")
    said = command("run", f"{file}:p", *BATCH, "--json")
    assert said.code == "SUBMIT_FUNCTION"
    assert said.json()["where"] == f"{file}:2, the pipeline 'p'"
    assert DataflowError.from_json(said.json()).where == said.json()["where"]


@pytest.mark.parametrize("key", ["None", "5", "()", "''", "('a', 'a')", "[None]", "{'a': 1.5, 2: 3}", "b'a'"])
def test_a_key_that_is_no_list_of_columns_is_refused(key: str, module: Module) -> None:
    with pytest.raises(DataflowError) as refused:
        load_pipeline(f"{module(f'p = {PIPELINE}.group_by_key_and_window(key={key}, window=GlobalWindows())')}:p")
    assert refused.value.code == "DEFINITION_KEY"


@pytest.mark.parametrize("reference", ["..pm:own", ".:own", "", ":", "pm", "pm:", "no.such.module:p", "no.py:p"])
def test_a_reference_that_leads_nowhere_is_refused(reference: str, command: Run) -> None:
    said = command("run", reference, *BATCH)
    assert (said.status, said.code) == (2, "DEFINITION_NOT_FOUND")


def failing(error: BaseException, command: Run, monkeypatch: pytest.MonkeyPatch, *options: str) -> Said:
    def fail(_: object) -> None:
        raise error

    monkeypatch.setattr(status_command, "read_status", fail)
    return command("status", "--state", "s", *options)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("a bug\nin two lines"), "INTERNAL_ERROR"),
        (AssertionError(), "INTERNAL_ERROR"),
        (SystemExit(0), "INTERNAL_ERROR"),
        (OSError(28, "No space left on device"), "ENGINE_MACHINE"),
        (MemoryError(), "ENGINE_MACHINE"),
        (KeyboardInterrupt(), "RUN_INTERRUPTED"),
    ],
)
def test_what_nobody_expected_has_a_code_and_leaves_its_traceback_in_a_file(
    error: BaseException, code: str, command: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    said = failing(error, command, monkeypatch, "--json")
    assert (said.status, said.code) == (6 if code == "RUN_INTERRUPTED" else EngineError.exit_code, code)
    assert len(said.err.splitlines()) <= 4
    assert said.json()["error"] == code
    kept = [*tmp_path.glob("*.traceback")]
    assert len(kept) == (said.status == EngineError.exit_code)
    for path in kept:
        assert f"Traceback: {path}" in said.err
        assert type(error).__name__ in path.read_text()


def test_a_panic_of_polars_is_no_exception_to_this(command: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicError(BaseException):
        """As PyO3's: it derives from BaseException."""

    assert failing(PanicError("index out of bounds"), command, monkeypatch).code == "INTERNAL_ERROR"


def test_the_error_file_holds_the_error_as_data_and_no_older_one(command: Run, tmp_path: Path) -> None:
    file = tmp_path / "error.json"
    file.write_text("of the run before")
    said = command("run", "no.py:p", *BATCH, "--error-file", file)
    told = DataflowError.from_json(json.loads(file.read_text()))
    assert (told.exit_code, told.code) == (said.status, said.code)
    assert [*tmp_path.iterdir()] == [file]


def test_an_error_file_that_cannot_be_written_does_not_hide_the_error(command: Run, tmp_path: Path) -> None:
    said = command("run", "no.py:p", *BATCH, "--error-file", tmp_path / "absent" / "error.json")
    assert said.status == 2
    assert "[DEFINITION_NOT_FOUND]" in said.err
    assert "the error file could not be written" in said.err


def test_output_that_nobody_reads_is_an_error_without_a_traceback(module: Module) -> None:
    """As ``explain ... | head -1``, with a reader that is gone before the first line."""
    file = module(f"p = {PIPELINE}.group_by_key_and_window(key='k', window=FixedWindows('1h')).combine(n=Count())")
    explain = [sys.executable, "-m", "airflow_dataflow_provider", "explain", f"{file}:p"]
    process = subprocess.Popen(explain, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 2
    assert told.startswith("[SUBMIT_OUTPUT]")
    assert "Traceback" not in told
