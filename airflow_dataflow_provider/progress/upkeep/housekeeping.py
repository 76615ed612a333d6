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
"""Epochs after which a task that died or ran twice is taken to write no more."""
_SELDOM: Final = 64
"""Sweeps between two that look for what seldom is there."""


class Housekeeping:
    """Clears away what nobody needs any more of the log, the rows that were set aside, the claims and the requests.

    Guarantees:
        Nothing goes that a reader may still ask for: a crash at any step leaves a state that says the same.

    Args:
        store: the state.
        log: of the driver that owns it.
        token: the claim of that driver.
        retention: how long rows that were set aside are kept.
    """

    def __init__(self, store: Store, log: EpochLog, token: int, retention: Retention) -> None:
        self._store, self._log, self._token, self._retention = store, log, token, retention
        self._sweeps = 0
        self._swept: int | None = None  # no epoch before this one has orphans

    def sweep(self, *, before: int, now: Micros) -> None:
        """Clear away, a little at a time; only between epochs.

        Args:
            before: the next epoch; all before it are committed.
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
    """Remove old claims, a thousand at a time, once a whole thousand follows them.

    No driver is that far behind: one that slept finds that it is fenced by looking for the claim that follows its own.
    """
    files = claim_files(store)
    for group in files.groups()[:-2]:
        store.delete(files.folder_of(group), recursive=True)
