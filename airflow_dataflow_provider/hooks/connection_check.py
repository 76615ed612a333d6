"""The checks of a connection's *Test* button."""

from __future__ import annotations

import subprocess
import uuid
from pathlib import Path

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.progress.store.store import Store

_PROGRAM = "import airflow_dataflow_provider"
_SECONDS = 60


def try_root(url: str) -> None:
    """Write a document under a state root, and delete it.

    Raises:
        SubmissionError: ``SUBMIT_CONNECTION`` if the local folder does not exist; a driver would create it.
        Exception: any error of the file system.
    """
    store, name = Store.open(url), f"connection-test-{uuid.uuid4().hex}.json"
    local = store.local_path(name)
    if local is not None and not Path(local).parent.is_dir():
        raise SubmissionError(
            f"the state root {url} is not a folder",
            reason="the states of all pipelines are below it; a misspelt name would start all of them anew",
            hint="correct the URL, or create the folder",
            code="SUBMIT_CONNECTION",
        )
    store.write_json(name, {})
    store.delete(name)


def try_interpreter(python: str) -> None:
    """Import this package in the interpreter of drivers.

    Raises:
        SubmissionError: ``SUBMIT_CONNECTION``.
    """
    try:
        subprocess.run([python, "-P", "-c", _PROGRAM], capture_output=True, text=True, timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        words = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        raise SubmissionError(
            f"the interpreter {python!r} cannot run a driver: {words[-1] if words else error}",
            hint="name a Python that has airflow-dataflow-provider[spark] installed",
            code="SUBMIT_CONNECTION",
        ) from error
