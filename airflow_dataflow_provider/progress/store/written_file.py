"""A data file as the document that makes it count names it: by name, size and digest.

Whoever reads the file compares, so that a bit that has turned is an error, and never another value.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.progress.store.store import Json, Store

DAMAGED: Final = "STATE_DAMAGED"


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """One data file.

    Args:
        name: within the folder that files of its kind lie in.
        size: in bytes.
        sha256: of its bytes as they were written, in hexadecimal digits.
    """

    name: str
    size: int
    sha256: str

    @classmethod
    def write(cls, store: Store, folder: str, name: str, data: bytes) -> WrittenFile:
        """Write a new file (see :meth:`Store.add`); the digest is of the bytes in hand."""
        store.add(f"{folder}/{name}", data)
        return cls(name, len(data), hashlib.sha256(data).hexdigest())

    def read(self, store: Store, folder: str) -> bytes:
        """Its bytes.

        Raises:
            StateError: ``STATE_DAMAGED`` where it is missing, or not as it was written.
        """
        where = store.child(f"{folder}/{self.name}")
        try:
            data = store.read(f"{folder}/{self.name}")
        except FileNotFoundError:
            raise damaged(f"{where} is missing") from None
        if len(data) != self.size:
            raise damaged(f"{where} has {len(data)} bytes, and {self.size} were written")
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise damaged(f"{where} is not as it was written: its digest differs")
        return data

    def to_json(self) -> Json:
        """``{"name": ..., "bytes": ..., "sha256": ...}``."""
        return {"name": self.name, "bytes": self.size, "sha256": self.sha256}

    @classmethod
    def from_json(cls, document: Json) -> WrittenFile:
        return cls(str(document["name"]), int(document["bytes"]), str(document["sha256"]))


def damaged(what: str) -> StateError:
    """``STATE_DAMAGED``: something that a document names, or that must follow another, is not there or has changed."""
    return StateError(
        what,
        reason="results read without it would be short or wrong",
        hint="`verify --state URL` names all that is missing or damaged, and what can be made anew",
        code=DAMAGED,
    )
