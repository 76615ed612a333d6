"""What a run writes down before its first epoch, and what becomes of it where that epoch never came.

A first run fixes the types of its columns and the columns of its pane log. It may fail after that: there is no Java, a
column has the wrong type. Nothing stands on what it has fixed until an epoch is planned, so the next run starts anew.
"""

from __future__ import annotations

from typing import Final

from airflow_dataflow_provider.progress.documents import load_document
from airflow_dataflow_provider.progress.epoch_documents import has_epochs
from airflow_dataflow_provider.progress.pane_chain import PaneChain
from airflow_dataflow_provider.progress.pane_commits import HEADER, POINTER, pane_log_of
from airflow_dataflow_provider.progress.store import Store

SCHEMA: Final = "schema.arrow"
"""Under a state URL: the types of the columns that are read."""


def has_schema(store: Store) -> bool:
    """Whether the types of the columns are fixed."""
    return has_epochs(store) and store.exists(SCHEMA)


def forget_failed_start(store: Store, state_id: str) -> None:
    """Remove what runs have fixed that came to no epoch; for the owner of the state.

    Where the pane log has published, there were epochs, and their documents were taken away: all stays as it is.
    """
    if has_epochs(store):
        return
    panes = pane_log_of(store)
    where = store if panes is None else panes
    header = load_document(where, HEADER, dict)
    if header is not None and header.get("state_id") == state_id:
        chain = PaneChain(where)
        if chain.newest_snapshot() is not None or chain.epochs():
            return
        where.delete(HEADER)
    if panes is not None:
        store.delete(POINTER)
    store.delete(SCHEMA)
