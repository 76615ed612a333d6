"""Errors of tasks, carried to the driver as data.

An exception ends a task, and Spark runs the task again: four times by default, and what is left of the error after that
is text. A :class:`DataflowError` says that the data, the state or the definition is at fault, so running the task again
cannot succeed. It travels as the task's result instead, pickled as all results are, and keeps its class and its code.
Every other exception stays one: a lost worker may do better the next time. So may a storage that is away for a moment:
the error that comes of it is a result of the last attempt only.

A map task's error is sent as its elements are. It goes to every state partition, so that none of them reduces a part.
"""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.spark.tasks.shuffled import MESSAGE

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

T = TypeVar("T")

ATTEMPTS = "DATAFLOW_TASK_ATTEMPTS"
"""Among a worker's environment variables: how often Spark runs a task that ends in an exception."""
_LASTING = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR}
"""Errors of the operating system that the next attempt has again."""


def with_error(answers: Iterable[T]) -> Iterator[T | DataflowError]:
    """The answers of a task; an error of this package is its last answer."""
    try:
        yield from answers
    except DataflowError as error:
        yield _final(error)


def with_error_to_all(sent: Iterable[Shuffled], partitions: int) -> Iterator[Shuffled]:
    """The blobs of a map task; an error of this package goes to all state partitions."""
    for each in with_error(sent):
        if isinstance(each, DataflowError):
            message = to_bytes(each)
            yield from ((partition, (MESSAGE, message)) for partition in range(partitions))
        else:
            yield each


def succeeded(answers: Iterable[T | DataflowError]) -> list[T]:
    """The answers of all tasks, if none of them is an error.

    Raises:
        DataflowError: the first one.
    """
    found: list[T] = []
    for answer in answers:
        if isinstance(answer, DataflowError):
            raise answer
        found.append(answer)
    return found


def to_bytes(message: object) -> bytes:
    """A report or an error among blobs of rows, on its way through the shuffle or the JVM."""
    return pickle.dumps(message)


def from_bytes(message: bytes) -> Any:  # noqa: ANN401 - the caller knows what its tasks report
    """Read back :func:`to_bytes`.

    Raises:
        DataflowError: if that is what the message is.
    """
    found = pickle.loads(message)  # noqa: S301 - tasks of one job talk to one another as all of Spark's do
    if isinstance(found, DataflowError):
        raise found
    return found


def _final(error: DataflowError) -> DataflowError:
    """The error, unless another attempt of the task may do better: then it is raised."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno not in _LASTING and _is_run_again():
        raise error
    return error


def _is_run_again() -> bool:
    from pyspark import TaskContext  # noqa: PLC0415 - only within a task

    context = TaskContext.get()
    return context is not None and context.attemptNumber() + 1 < int(os.environ.get(ATTEMPTS, "1"))
