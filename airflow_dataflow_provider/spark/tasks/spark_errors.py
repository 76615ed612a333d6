"""Spark's exceptions in the driver, as errors with a code.

Spark says itself what kind of error it is: by a condition and an SQL state where it knows one, by the chain of causes
in the JVM otherwise. Nothing is looked for in texts. Errors that this package raises in a task do not come this way
(:mod:`~airflow_dataflow_provider.spark.tasks.task_errors`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from airflow_dataflow_provider.model.errors import DataError, DataflowError, EngineError

_OF_THE_DATA = ("22", "P0")
"""Classes of SQL states that are about values: data exceptions, and what ``raise_error`` and ``assert_true`` raise."""


def job_failed(reason: str) -> EngineError:
    """A job of Spark's failed, for a reason of Spark's or the machine's."""
    return EngineError(
        f"a Spark job failed: {reason}",
        reason="Spark, the machine, or what was set for Spark is at fault, and not the pipeline's data",
        hint="see the driver's log, then run again: the run goes on after the last committed epoch",
        code="ENGINE_FAILED",
    )


def start_failed(reason: str) -> EngineError:
    """There is no Spark to run jobs on."""
    return EngineError(
        f"Spark does not start: {reason}",
        reason="its settings are wrong, its master cannot be reached, or the machine refuses",
        hint="see the driver's log for Spark's own words; correct --conf and --master",
        code="ENGINE_START",
    )


@contextmanager
def with_codes(failed: Callable[[str], EngineError] = job_failed) -> Iterator[None]:
    """Raise what Spark raises within as errors of this package; everything else as it is.

    Args:
        failed: makes the error that is neither the data's nor a lost JVM's, of its reason.

    Raises:
        DataError: ``DATA_PAR_DO``, for an expression that failed on the data.
        EngineError: ``ENGINE_FAILED`` or ``ENGINE_START``; ``ENGINE_LOST``.
    """
    try:
        yield
    except DataflowError:
        raise
    except Exception as error:
        told = _told(error, failed)
        if told is None:
            raise
        raise told from error


def _told(error: Exception, failed: Callable[[str], EngineError]) -> DataflowError | None:
    from py4j.protocol import (  # type: ignore[import-untyped]  # noqa: PLC0415 - nothing else here needs it
        Py4JError,
        Py4JJavaError,
    )
    from pyspark.errors import PySparkException  # noqa: PLC0415

    if isinstance(error, PySparkException):
        return _of_the_data(error) or failed(_reason(str(error)))
    if isinstance(error, Py4JJavaError):
        return failed(_root_cause(error.java_exception))
    if isinstance(error, Py4JError) or (isinstance(error, ConnectionError) and _was_raised_by_py4j(error)):
        return EngineError(
            "Spark's JVM has ended",
            reason="it was killed, or had no memory left; its own last words are in the driver's log",
            hint="run again: the run goes on after the last committed epoch; see spark.driver.memory if it comes again",
            code="ENGINE_LOST",
        )
    return None


def _of_the_data(error: Any) -> DataError | None:  # noqa: ANN401 - only some of its methods are in pyspark's stubs
    if not (error.getSqlState() or "").startswith(_OF_THE_DATA):
        return None
    where = next((context.fragment() for context in error.getQueryContext()), "")
    return DataError(
        f"a SparkColumns expression failed{f' in {where}' if where else ''}",
        reason=_reason(str(error)),
        hint="keep such rows out with a condition, or let the expression give null for them (try_divide)",
        code="DATA_PAR_DO",
    )


def _root_cause(thrown: Any) -> str:  # noqa: ANN401 - an object of the JVM
    """The message of the deepest cause that has one."""
    found = ""
    while thrown is not None:
        message = _reason(thrown.getMessage() or "")
        found = f"{thrown.getClass().getSimpleName()}: {message}" if message else found
        thrown = thrown.getCause()
    return found or "it gives no reason"


def _reason(text: str) -> str:
    """The line of a message that says most: of a Python traceback the last one, else the first."""
    python = text.partition("Traceback (most recent call last):")[2].partition("\n\tat ")[0]
    lines = [line.strip() for line in (python or text).splitlines() if line.strip()]
    return "" if not lines else lines[-1] if python else lines[0]


def _was_raised_by_py4j(error: BaseException) -> bool:
    frame = error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_globals.get("__name__", "").startswith("py4j."):
            return True
        frame = frame.tb_next
    return False
