"""How failures become Airflow's: what a retry cannot mend fails at once, everything else may be retried."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_dataflow_provider.model.errors import DataflowError, DefinitionError, StateError

_RETRY_IS_USELESS = (DefinitionError.exit_code, StateError.exit_code)


def driver_failure(exit_code: int | None, reason: str) -> AirflowException:
    """The exception for a driver that did not end well, with the driver's own words in it."""
    how = "and left no exit status: its guardian was killed" if exit_code is None else f"with exit status {exit_code}"
    kind = AirflowFailException if exit_code in _RETRY_IS_USELESS else AirflowException
    return kind(f"the driver ended {how}:\n{reason}")


@contextmanager
def as_task_failure() -> Iterator[None]:
    """Turn this package's errors into Airflow's."""
    try:
        yield
    except DataflowError as error:
        kind = AirflowFailException if error.exit_code in _RETRY_IS_USELESS else AirflowException
        raise kind(str(error)) from error
