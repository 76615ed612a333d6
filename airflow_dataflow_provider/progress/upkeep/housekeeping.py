"""Housekeeping between two epochs, so that a state that lives for years stays small."""

from __future__ import annotations

from typing import Final

from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.ownership.owner import claim_files
from airflow_dataflow_provider.progress.requests import requests
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.upkeep import set_aside
from airflow_dataflow_provider.progress.upkeep.set_aside import Retention

_WINDOW: Final = 16
"""The number of epochs after which tasks of a failed or repeated attempt are taken to have ended."""
_SELDOM: Final = 64
"""The number of sweeps between two that also look for rare files."""


class Housekeeping:
    """Deletes old documents of the log, rows that were set aside, claims and requests.

    Guarantees:
        It deletes no file that a reader may still need. A crash at any step does not change the meaning of the state.

    Args:
        store: the state.
        log: the epoch log of the driver that owns it.
        token: the claim of that driver.
        retention: how long rows that were set aside are kept.
    """

    def __init__(self, store: Store, log: EpochLog, token: int, retention: Retention) -> None:
        self._store, self._log, self._token, self._retention = store, log, token, retention
        self._sweeps = 0
        self._swept: int | None = None  # no epoch before this one has orphans

    def sweep(self, *, before: int, now: Micros) -> None:
        """Delete a limited number of files; only between epochs.

        Args:
            before: the next epoch; all epochs before it are committed.
            now: processing time.
        """
        self._log.compact()
        until = max(0, before - _WINDOW)
        since = max(0, until - _WINDOW) if self._swept is None else self._swept
        set_aside.sweep_orphans(self._store, self._log, range(since, until))
        self._swept = max(since, until)
        if self._sweeps % _SELDOM == 0:
            set_aside.apply_retention(self._store, self._log, self._retention, now)
            requests.sweep(self._store, self._token, now)
            sweep_claims(self._store)
        self._sweeps += 1


def sweep_claims(store: Store) -> None:
    """Delete old claims, a thousand at a time, once another whole thousand follows them.

    A suspended driver finds out that it is fenced by the claim that follows its own. No driver is so far behind.
    """
    files = claim_files(store)
    for group in files.groups()[:-2]:
        store.delete(files.folder_of(group), recursive=True)
