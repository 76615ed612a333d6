"""The file in which a driver leaves why it failed, for the program that started it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from airflow_dataflow_provider.model.errors import DataflowError

VARIABLE: Final = "DATAFLOW_ERROR_FILE"
"""The environment variable that says where the file is to be, unless the command line does."""


def leave(path: Path, error: DataflowError) -> None:
    """Write the error, whole or not at all."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(error.to_json()), encoding="utf-8")
    temporary.replace(path)


def read(path: Path) -> DataflowError | None:
    """The error that a driver has left; None where there is none, or another program's file."""
    try:
        return DataflowError.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
