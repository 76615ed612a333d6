"""What the *Test* button of a connection tries."""

from __future__ import annotations

import subprocess
import uuid
from pathlib import Path

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.progress.store.store import Store

_PROGRAM = "import airflow_dataflow_provider"
_SECONDS = 60


def try_root(url: str) -> None:
    """Write a document under a state root, and take it away again.

    Raises:
        SubmissionError: ``SUBMIT_CONNECTION`` if there is no such folder; a driver would make it, wherever it runs.
        Exception: whatever the file system raises.
    """
    store, name = Store.open(url), f"connection-test-{uuid.uuid4().hex}.json"
    local = store.local_path(name)
    if local is not None and not Path(local).parent.is_dir():
        raise SubmissionError(
            f"the state root {url} is no folder",
            reason="the states of all pipelines are below it, and a name with a mistake in it would make another one",
            hint="correct it, or create the folder",
            code="SUBMIT_CONNECTION",
        )
    store.write_json(name, {})
    store.delete(name)


def try_interpreter(python: str) -> None:
    """Have the drivers' interpreter import this package.

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
