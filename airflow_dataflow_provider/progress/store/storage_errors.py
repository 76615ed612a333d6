"""Errors of the storage of a state: full, read-only, forbidden, wrong kind of file, or unavailable."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from typing import Final

from airflow_dataflow_provider.model.errors import DataflowError, StateError

_FULL: Final = (
    "there is no space left",
    "an epoch counts only once its documents are stored; all committed epochs are safe",
    "free some space, then run again: the run continues after the last committed epoch",
)
_FORBIDDEN: Final = (
    "permission denied",
    "the driver writes the state, and sensors and the command line read it",
    "give the user of this process access, or choose another state URL",
)
_IN_THE_WAY: Final = (
    "a file is where a folder is expected, or a folder where a file is",
    "a state is a folder, and its documents have fixed paths in it",
    "give the URL of a folder as the state, or move the existing file or folder away",
)
_KNOWN: Final = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.ENOTDIR: _IN_THE_WAY,
    errno.EISDIR: _IN_THE_WAY,
    errno.EROFS: (
        "the file system is read-only",
        "the driver has to write the state",
        "mount it for writing, or choose another state URL",
    ),
    errno.ENOENT: (
        "the folder or the bucket does not exist",
        "the state must be readable later",
        "create the bucket, or choose another state URL",
    ),
}


@contextlib.contextmanager
def storage_errors(where: str, doing: str, *expected: type[OSError]) -> Iterator[None]:
    """Turn the errors of the storage into ``STATE_STORAGE`` errors.

    Args:
        where: the URL or path, for the message.
        doing: ``read``, ``written``, ``listed`` or ``removed``.
        expected: errors that the caller handles; they are not changed.
    """
    try:
        yield
    except Exception as error:  # S3's and other clients raise errors of their own beside OSError
        if isinstance(error, (DataflowError, *expected)):
            raise
        raise storage_error(where, doing, error) from error


def storage_error(where: str, doing: str, error: Exception) -> StateError:
    """The ``STATE_STORAGE`` error for an error of the storage."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and isinstance(error, PermissionError | FileNotFoundError):  # object stores give no number
        number = errno.EACCES if isinstance(error, PermissionError) else errno.ENOENT
    fallback = (
        str(error) or type(error).__name__,
        "an epoch counts only once its documents are stored",
        "make sure that the storage can be reached, then run again: the run continues after the last committed epoch",
    )
    problem, reason, hint = fallback if number is None else _KNOWN.get(number, fallback)
    return StateError(f"{where} cannot be {doing}: {problem}", reason=reason, hint=hint, code="STATE_STORAGE")
