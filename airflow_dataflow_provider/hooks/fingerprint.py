"""What a pipeline is now, asked of the interpreter that its drivers run in: only there can it be loaded for sure."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import SubmissionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_dataflow_provider.hooks.reference import PipelineReference

# The driver's own way to load it, in the driver's own environment.
_PROGRAM = """
import sys
from airflow_dataflow_provider.cli.pipelines import load_pipeline
from airflow_dataflow_provider.model.errors import DataflowError
try:
    sys.stdout.write("\\nfingerprint=" + load_pipeline(sys.argv[1]).fingerprint())
except DataflowError as error:
    sys.exit(error.what)
"""
_SECONDS = 120


def fingerprint(pipeline: PipelineReference, python: str, environment: Mapping[str, str]) -> str:
    """The fingerprint of the pipeline as it is defined now.

    Args:
        pipeline: which one; a file with its absolute path.
        python: the driver's interpreter.
        environment: the driver's environment.

    Raises:
        SubmissionError: ``SUBMIT_PIPELINE_LOAD`` if it cannot be loaded there.
    """
    # Not from where the task happens to run (-P): that folder would come before the standard library.
    command = [python, "-P", "-c", _PROGRAM, str(pipeline)]
    try:
        answer = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        words = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise SubmissionError(
            f"the pipeline {str(pipeline)!r} cannot be loaded by {python}: {words[-1] if words else error}",
            reason="the driver runs there, and its definition is compared with the one that runs",
            hint="make the module importable there (beside the DAG file, or in the DAGs folder)",
            code="SUBMIT_PIPELINE_LOAD",
        ) from error
    return answer.stdout.rpartition("fingerprint=")[2].strip()
