"""The data files that a checkpoint names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_dataflow_provider.progress.store.written_file import WrittenFile

KEYED: Final = "keyed"
"""The folder of open windows."""
READ: Final = "read"
"""The folder of the lists of splits that were read."""


@dataclass(frozen=True, slots=True)
class StateFiles:
    """The data files without which a driver cannot go on from a checkpoint.

    Attributes:
        keyed: open windows, within their folder.
        read: lists of splits that were read, within their folder.
    """

    keyed: tuple[WrittenFile, ...]
    read: tuple[WrittenFile, ...]

    @classmethod
    def of(cls, checkpoint: Mapping[str, Any]) -> StateFiles:
        """The files that the JSON of a checkpoint names."""
        stages = (checkpoint, *checkpoint.get("further", ()))
        chains = [chain for stage in stages for chain in stage.get("chains", {}).values()]
        read = checkpoint.get("read_splits") or {"files": ()}
        return cls(
            tuple(WrittenFile.from_json(file) for chain in chains for file in chain["files"]),
            tuple(map(WrittenFile.from_json, read["files"])),
        )
