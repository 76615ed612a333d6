"""The transcripts in this folder, by name."""

from __future__ import annotations

import os
from pathlib import Path

from airflow_dataflow_provider.testing.expressions import evaluator
from airflow_dataflow_provider.testing.transcript import Transcript
from tests.transcripts import own

FOLDER = Path(__file__).parent
TRANSCRIPTS = {
    str(path.relative_to(FOLDER).with_suffix("")): Transcript.read(path, own.NAMES)
    for path in sorted(FOLDER.rglob("*.yaml"))
}
RUN = {name: transcript for name, transcript in TRANSCRIPTS.items() if transcript.refused is None}
"""Those that are not refused."""
NEEDS_SPARK = {name for name, transcript in RUN.items() if evaluator(transcript.pipeline()) is not None}
"""Only Spark knows what its expressions mean."""

MODES = ("spark-batch", "spark-micro-batch", "spark-streaming")
EVERYWHERE = bool(os.environ.get("EVERYWHERE"))
ON_SPARK = [
    (name, mode)
    for name, transcript in RUN.items()
    for mode in MODES
    if mode in transcript.engines or (EVERYWHERE and (mode != "spark-batch" or transcript.batch is not None))
]
"""Those that name a mode; with EVERYWHERE=1 in the environment, all in every mode that they hold in."""
