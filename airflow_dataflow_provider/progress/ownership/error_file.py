"""The file to which a driver writes its error, for the program that started it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from airflow_dataflow_provider.model.errors import DataflowError

VARIABLE: Final = "DATAFLOW_ERROR_FILE"
"""The environment variable with the path of the file, unless the command line gives one."""


def leave(path: Path, error: DataflowError) -> None:
    """Write the error atomically."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(error.to_json()), encoding="utf-8")
    temporary.replace(path)


def read(path: Path) -> DataflowError | None:
    """The error that a driver has written; None without a file, or if another program wrote it."""
    try:
        return DataflowError.from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return None
