"""A data file as documents name it: by name, size and digest.

Readers compare the digest, so that damage is an error, and never a wrong value.
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
        name: the name within the folder of its kind.
        size: the size in bytes.
        sha256: the digest of the written bytes, in hexadecimal digits.
    """

    name: str
    size: int
    sha256: str

    @classmethod
    def write(cls, store: Store, folder: str, name: str, data: bytes) -> WrittenFile:
        """Write a new file (see :meth:`Store.add`)."""
        store.add(f"{folder}/{name}", data)
        return cls(name, len(data), hashlib.sha256(data).hexdigest())

    def read(self, store: Store, folder: str) -> bytes:
        """Read its bytes.

        Raises:
            StateError: ``STATE_DAMAGED`` where it is missing or has changed.
        """
        where = store.child(f"{folder}/{self.name}")
        try:
            data = store.read(f"{folder}/{self.name}")
        except FileNotFoundError:
            raise damaged(f"{where} is missing") from None
        if len(data) != self.size:
            raise damaged(f"{where} has {len(data)} bytes, and {self.size} were written")
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise damaged(f"{where} has changed: its digest differs")
        return data

    def to_json(self) -> Json:
        """``{"name": ..., "bytes": ..., "sha256": ...}``."""
        return {"name": self.name, "bytes": self.size, "sha256": self.sha256}

    @classmethod
    def from_json(cls, document: Json) -> WrittenFile:
        return cls(str(document["name"]), int(document["bytes"]), str(document["sha256"]))


def damaged(what: str) -> StateError:
    """``STATE_DAMAGED``: a file or document that another one names is missing or has changed."""
    return StateError(
        what,
        reason="results without it would be incomplete or wrong",
        hint="`verify --state URL` lists all missing or damaged files, and which of them can be rebuilt",
        code=DAMAGED,
    )
