"""Writing a picture to the place that a user names."""

from __future__ import annotations

from pathlib import Path

from airflow_dataflow_provider.model.errors import SubmissionError


def save(picture: str, file: Path) -> None:
    """Write a picture, and the folders above it.

    Raises:
        SubmissionError: ``SUBMIT_OUTPUT``.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(picture, encoding="utf-8")
    except OSError as error:
        raise SubmissionError(
            f"the picture cannot be written to {file}: {error.strerror}",
            hint="name another file",
            code="SUBMIT_OUTPUT",
        ) from error
