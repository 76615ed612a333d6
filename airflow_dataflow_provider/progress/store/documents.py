"""Converts JSON documents to values and back, for all records."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from airflow_dataflow_provider.model.errors import DataflowError, StateError
from airflow_dataflow_provider.model.time import Micros, from_iso, iso
from airflow_dataflow_provider.progress.store.store import Json, Store

T = TypeVar("T")


def load_document(store: Store, path: str, parse: Callable[[Json], T]) -> T | None:
    """The value in a document, or None where there is none.

    Raises:
        StateError: ``STATE_UNREADABLE``, naming the document and the problem.
    """
    try:
        document = store.read_json(path)
    except FileNotFoundError:
        return None
    return parse_document(store, path, document, parse)


def parse_document(store: Store, path: str, document: Json, parse: Callable[[Json], T]) -> T:
    """The value in a document that was read from ``path``; raises as :func:`load_document` does."""
    try:
        return parse(document)
    except (AttributeError, KeyError, TypeError, ValueError, DataflowError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise StateError(
            f"{store.child(path)} is not valid: {problem}",
            reason="it was not written by this package, or was changed since",
            hint="restore the file, or start anew at another state URL",
            code="STATE_UNREADABLE",
        ) from error


def bad_record(problem: str) -> StateError:
    """A value that no record may hold: always a mistake of the writer."""
    return StateError(problem, reason="readers rely on it", hint="report it", code="STATE_BAD_RECORD")


def optional_iso(time: Micros | None) -> str | None:
    return None if time is None else iso(time)


def from_optional_iso(text: str | None) -> Micros | None:
    return None if text is None else from_iso(text)
