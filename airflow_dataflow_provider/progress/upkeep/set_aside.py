"""The files of rows that were set aside: expired elements, and rows that cannot be read as elements.

An epoch's files are below ``expired/`` and ``rejected/``, in a folder with its number. Only files that its result names
count. Others were left by failed or repeated tasks, and are deleted. A *retention* deletes the files of old epochs;
``retention.json`` holds the first epoch whose files are kept, and is written before any file is deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, Self

from airflow_dataflow_provider.model.errors import DataflowError, SubmissionError
from airflow_dataflow_provider.model.time import Micros, duration
from airflow_dataflow_provider.progress.log.epoch_result import EpochResult
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.store.documents import load_document
from airflow_dataflow_provider.progress.store.numbered import EpochFolders
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile

EXPIRED_FOLDER: Final = "expired"
REJECTED_FOLDER: Final = "rejected"
FOLDERS: Final = (EXPIRED_FOLDER, REJECTED_FOLDER)

RETENTION_CONF: Final = "dataflow.retention."
"""The prefix of the ``--conf`` settings for how long the rows of a folder are kept."""

_RETENTION: Final = "retention.json"
_AT_ONCE: Final = 1_000
"""The greatest number of epochs whose files are deleted at once."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long rows that were set aside are kept after their epoch, in microseconds; None: for ever."""

    expired: Micros | None = None
    rejected: Micros | None = None

    @classmethod
    def from_conf(cls, conf: Mapping[str, str]) -> Self:
        """Read ``dataflow.retention.expired`` and ``dataflow.retention.rejected`` from a run's settings.

        Raises:
            SubmissionError: ``SUBMIT_CONF``.
        """
        found: dict[str, Micros] = {}
        for name, text in conf.items():
            if not name.startswith(RETENTION_CONF):
                continue
            what = name.removeprefix(RETENTION_CONF)
            try:
                keep = duration(text) if what in FOLDERS else 0
            except DataflowError:
                keep = 0
            if keep <= 0:
                raise SubmissionError(
                    f"--conf {name}={text} is not a retention",
                    hint=f"give {' or '.join(RETENTION_CONF + folder for folder in FOLDERS)} a duration, such as 90d",
                    code="SUBMIT_CONF",
                )
            found[what] = keep
        return cls(**found)

    def of(self, folder: str) -> Micros | None:
        """How long the rows of a folder are kept."""
        return {EXPIRED_FOLDER: self.expired, REJECTED_FOLDER: self.rejected}[folder]


def kept_from(store: Store, folder: str) -> int:
    """The first epoch whose rows of a folder are kept."""
    return int((load_document(store, _RETENTION, dict) or {}).get(folder, 0))


def files_of(result: EpochResult | None, folder: str) -> tuple[WrittenFile, ...]:
    """The files of a folder that the result of an epoch names; an abandoned epoch has none."""
    if result is None:
        return ()
    return result.expired_files if folder == EXPIRED_FOLDER else result.rejected_files


def sweep_orphans(store: Store, log: EpochLog, epochs: range) -> None:
    """Remove the files of committed epochs that no result names."""
    for epoch in epochs:
        for folder in FOLDERS:
            folders = EpochFolders(store, folder)
            prepared = log.prepared(epoch) if folders.names(epoch) else None
            if prepared is not None:  # else nothing is there, or no result says what of it counts
                counted = {file.name for file in files_of(prepared.result, folder)}
                folders.remove_all_but(epoch, counted, ".parquet")


def apply_retention(store: Store, log: EpochLog, retention: Retention, now: Micros) -> None:
    """Remove the files of epochs that were committed longer ago than rows are kept; of the oldest epochs first."""
    for folder in FOLDERS:
        keep = retention.of(folder)
        if keep is None:
            continue
        folders, gone = EpochFolders(store, folder), []
        for epoch in islice(folders.epochs(), _AT_ONCE):
            record = log.record(epoch)
            if record is None or record.finished_at > now - keep:
                break
            gone.append(epoch)
        if not gone:
            continue
        kept = load_document(store, _RETENTION, dict) or {}
        store.write_json(_RETENTION, {**kept, folder: max(gone[-1] + 1, kept.get(folder, 0))})
        for epoch in gone:
            folders.remove(epoch)
