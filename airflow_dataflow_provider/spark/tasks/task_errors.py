"""Errors of tasks, carried to the driver as data.

An exception ends a task, and Spark runs the task again: four times by default, and what is left of the error after that
is text. A :class:`DataflowError` says that the data, the state or the definition is at fault, so running the task again
cannot succeed. It travels as the task's result instead, and keeps its class and its code. Every other exception stays
one: a lost worker may do better the next time. So may a storage that is away for a moment; errors that come of it are
told as results by the last attempt only.

The map side's error takes the way of its elements. It goes to every state partition, so that none of them reduces
what is not whole, or to the driver.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from airflow_dataflow_provider.model.errors import DataflowError

if TYPE_CHECKING:
    from airflow_dataflow_provider.spark.tasks.shuffled import Shuffled

T = TypeVar("T")

FAILURE = "\0failure"
"""In the place of a blob's origin: the blob is an error. No file can be called this."""
ATTEMPTS = "DATAFLOW_TASK_ATTEMPTS"
"""Among a worker's environment variables: how often Spark runs a task that ends in an exception."""
_LASTING = {errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EISDIR, errno.ENOTDIR}
"""What the operating system says of a file and says again at the next attempt."""


def as_result(answers: Iterable[T]) -> Iterator[T | DataflowError]:
    """What a task answers; an error of this package is its last answer."""
    try:
        yield from answers
    except DataflowError as error:
        yield _final(error)


def to_every_partition(sent: Iterable[Shuffled], partitions: int) -> Iterator[Shuffled]:
    """What a map task sends; an error of this package goes to all state partitions."""
    try:
        yield from sent
    except DataflowError as error:
        blob = _encoded(_final(error))
        yield from ((partition, (FAILURE, blob)) for partition in range(partitions))


def as_report(passed: Iterable[T]) -> Iterator[T | bytes]:
    """What a task passes on through the JVM; an error of this package goes where its report would be."""
    try:
        yield from passed
    except DataflowError as error:
        yield _encoded(_final(error))


def raise_reported(report: bytes) -> None:
    """Raise the error, if that is what a report is.

    Raises:
        DataflowError: as the task raised it.
    """
    document = json.loads(report)
    if "error" in document:
        raise DataflowError.from_json(document)


def raise_arrived(arrived: Iterable[tuple[str, bytes]]) -> None:
    """Raise the first error among blobs with their origins.

    Raises:
        DataflowError: as the task raised it.
    """
    for origin, blob in arrived:
        if origin == FAILURE:
            raise DataflowError.from_json(json.loads(blob))


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


def _encoded(error: DataflowError) -> bytes:
    return json.dumps(error.to_json()).encode()
