"""The fingerprint of a pipeline, computed in the drivers' interpreter: Airflow's may not be able to load it."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import SubmissionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow_dataflow_provider.hooks.reference import PipelineReference

# It loads the pipeline as the driver does, in the driver's environment.
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
    """The fingerprint of the pipeline's present definition.

    Args:
        pipeline: the pipeline; a file by its absolute path.
        python: the driver's interpreter.
        environment: the driver's environment.

    Raises:
        SubmissionError: ``SUBMIT_PIPELINE_LOAD`` if it cannot be loaded there.
    """
    # -P: the task's working directory must not come before the standard library.
    command = [python, "-P", "-c", _PROGRAM, str(pipeline)]
    try:
        answer = subprocess.run(
            command, env=dict(environment), capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        words = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise SubmissionError(
            f"the pipeline {str(pipeline)!r} cannot be loaded by {python}: {words[-1] if words else error}",
            reason="drivers run there, and the definition is compared with that of the running stream",
            hint="make the module importable there: put it beside the DAG file, or into the DAGs folder",
            code="SUBMIT_PIPELINE_LOAD",
        ) from error
    return answer.stdout.rpartition("fingerprint=")[2].strip()
