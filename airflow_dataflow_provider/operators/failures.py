"""Turns errors into Airflow's: without retries where a retry cannot help, else with them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_dataflow_provider.model.errors import DataflowError, DefinitionError, StateError

_LASTING = (DefinitionError.exit_code, StateError.exit_code)
_MAY_PASS = ("STATE_FILESYSTEM", "STATE_STORAGE", "SOURCE_EMPTY", "SOURCE_NOT_FOUND")
"""Codes of such errors that a retry may help: the file system was away, or the input had not arrived."""


def driver_failure(exit_code: int | None, reason: DataflowError | str) -> AirflowException:
    """The exception for a driver that failed, with the driver's error.

    Args:
        exit_code: the exit status of its process, if known.
        reason: its error; else its detail in the state, or the last lines of its output.
    """
    how = "and left no exit status: its guardian was killed" if exit_code is None else f"with exit status {exit_code}"
    code = reason.code if isinstance(reason, DataflowError) else ""
    return _failure(exit_code, code, f"the driver ended {how}:\n{reason}")


@contextmanager
def as_task_failure() -> Iterator[None]:
    """Turn this package's errors into Airflow's."""
    try:
        yield
    except DataflowError as error:
        raise _failure(error.exit_code, error.code, str(error)) from error


def _failure(exit_code: int | None, code: str, text: str) -> AirflowException:
    lasting = exit_code in _LASTING and code not in _MAY_PASS
    return AirflowFailException(text) if lasting else AirflowException(text)
