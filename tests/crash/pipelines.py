"""The pipeline that the crash campaign runs in a process of its own; where its files are comes from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from tests.spark.events import pipeline

minutes = pipeline(Path(os.environ["CRASH_SOURCE"]), lateness="1h", max_files_per_epoch=1)
