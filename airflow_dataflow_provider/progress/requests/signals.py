"""Named signals from outside, and how an epoch takes them.

A signal is a request (:func:`~airflow_dataflow_provider.progress.requests.requests.request_signal`), or a file of its
name in the folder ``signals/`` of the state. It waits until a driver plans an epoch. The plan names it, and the request
is deleted once the epoch is committed, so a crash in between neither loses nor repeats a signal. Raised twice before an
epoch takes it, it counts once.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable

from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import Micros
from airflow_dataflow_provider.progress.requests import requests
from airflow_dataflow_provider.progress.requests.requests import Request
from airflow_dataflow_provider.progress.store.store import Store

log = logging.getLogger(__name__)

FOLDER = "signals"
"""The folder of signal files. A driver deletes the files that it has taken; a file of an unknown name stays."""


def listened_to(pipeline: Pipeline) -> frozenset[str]:
    """The names of the signals that any trigger of a pipeline waits for."""
    return frozenset[str]().union(*(grouping.trigger.signals() for grouping in pipeline.groupings))


def raised(store: Store, known: Collection[str], now: Micros) -> list[Request]:
    """The signals that no epoch has taken, oldest first; files become requests.

    It must be called between epochs only, after :func:`forget` for the last epoch.

    Args:
        store: the pipeline's state.
        known: the names that the pipeline waits for; without any, nothing is read.
        now: processing time.
    """
    if not known:
        return []
    waiting = [request for request in requests.pending(store) if request.signal in known]
    for name in store.list(FOLDER):
        if name not in known:
            log.warning("no trigger waits for the signal of the file %s", store.child(f"{FOLDER}/{name}"))
            continue
        # A request of this name may be that of this file, after a crash between the next two lines. One is enough.
        if all(request.signal != name for request in waiting):
            waiting.append(requests.request_signal(store, name, now, known))
        store.delete(f"{FOLDER}/{name}")
        store.sync(FOLDER)
    return waiting


def waiting(store: Store, known: Collection[str] | None) -> tuple[str, ...]:
    """The names of the signals that no committed epoch has taken, files included. It changes nothing.

    Args:
        store: the pipeline's state.
        known: the names that the pipeline waits for, others are left out; None: they are not known.
    """
    found = names(requests.pending(store)).union(store.list(FOLDER))
    return tuple(sorted(found if known is None else found.intersection(known)))


def names(raised: Iterable[Request]) -> frozenset[str]:
    return frozenset(request.signal for request in raised if request.signal is not None)


def forget(store: Store, taken: Iterable[str]) -> None:
    """Delete the requests that a committed epoch has taken, by id. A repetition changes nothing."""
    requests.remove(store, taken)
