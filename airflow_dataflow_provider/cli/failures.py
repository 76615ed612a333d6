"""How the command line tells of an error: its code and what to do; of a surprise, where the traceback is."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

from airflow_dataflow_provider.model.errors import DataflowError, EngineError, InterruptedRunError, SubmissionError
from airflow_dataflow_provider.progress.ownership.error_file import leave


def tell(error: BaseException, *, as_json: bool, error_file: str | None) -> int:
    """Say what ended a command.

    Args:
        error: what did.
        as_json: also as one JSON object on standard output.
        error_file: where to leave the same object; the traceback of a surprise is kept beside it.

    Returns:
        The exit status.
    """
    told = as_dataflow_error(error)
    text = "\n".join([str(told), *getattr(error, "__notes__", ())])
    if told.exit_code == EngineError.exit_code:
        text += f"\nTraceback: {_keep_traceback(error, error_file)}"
    if error_file is not None:
        try:
            leave(Path(error_file), told)
        except OSError as failure:
            text = f"the error file could not be written: {failure}\n{text}"
    with suppress(BrokenPipeError):
        if as_json:
            print(json.dumps(told.to_json()), flush=True)  # noqa: T201 - what the option is for
    print(text, file=sys.stderr)  # noqa: T201
    return told.exit_code


def as_dataflow_error(error: BaseException) -> DataflowError:
    """The error itself, if it has a code; else the one that stands for its kind."""
    if isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError):
        error = error.__context__  # rich turns the one into the other
    match error:
        case DataflowError():
            return error
        case KeyboardInterrupt():
            return InterruptedRunError(
                "the command was interrupted",
                reason="somebody pressed Ctrl-C, or the process got SIGINT",
                hint="run it again: it goes on after the last committed epoch",
                code="RUN_INTERRUPTED",
            )
        case BrokenPipeError():
            # Python would complain again when it closes standard output at its end.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return SubmissionError(
                "standard output was closed before everything was written to it",
                hint="let what reads it read to the end",
                code="SUBMIT_OUTPUT",
            )
        case OSError():
            return EngineError(
                f"the machine refused: {error}",
                reason="an operation of the operating system failed that nothing should stand in the way of",
                hint="check space, permissions and the network, then run again",
                code="ENGINE_MACHINE",
            )
        case MemoryError():
            return EngineError(
                "the machine has no memory left for this process",
                hint="give the process more memory, or split the work: max_files_per_epoch, an interval",
                code="ENGINE_MACHINE",
            )
    return EngineError(
        f"{type(error).__name__}: {_first_line(error)}",
        reason="no part of this package expects this error, so it is most likely a bug of it",
        hint="run again; if it comes again, report it with the traceback",
        code="INTERNAL_ERROR",
    )


def _first_line(error: BaseException) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), "(without a message)")


def _keep_traceback(error: BaseException, error_file: str | None) -> str:
    """The file in which the whole traceback is, or why there is none."""
    text = "".join(traceback.format_exception(error))
    try:
        if error_file is not None:
            path = Path(error_file).with_suffix(".traceback")
            path.write_text(text, encoding="utf-8")
            return str(path)
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="dataflow-", suffix=".traceback", delete=False
        ) as file:
            file.write(text)
            return file.name
    except OSError as failure:
        return f"not kept ({failure})\n{text}"
