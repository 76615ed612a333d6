"""Where a driver and its workers look for the modules that users wrote."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Final

VARIABLE: Final = "DATAFLOW_MODULES"
"""The environment variable that names the folders, separated as in ``PATH``."""


def look_in(folders: Iterable[str]) -> None:
    """Look for modules in these folders, too: after everything that is installed.

    A folder on ``PYTHONPATH`` comes before the standard library: a user's ``calendar.py`` would take its place, in the
    driver, in Spark's workers and in whatever they import.
    """
    sys.path.extend(folder for folder in dict.fromkeys(folders) if folder and folder not in sys.path)


def look_where_told() -> None:
    """Look where whoever started this process says."""
    look_in(os.environ.get(VARIABLE, "").split(os.pathsep))
