"""Named signals from outside: which ones a pipeline listens to, who raises them, and how an epoch takes them.

A signal is a request (:func:`~airflow_dataflow_provider.progress.requests.requests.request_signal`), or a file of its
name that somebody has put into the folder ``signals/`` of the state. It waits until a driver plans an epoch. The plan
names it before the epoch runs, and once the epoch is committed the request is removed: a crash in between loses no
signal, and raises none twice. Raised twice before an epoch takes it, it is one.
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
"""Where people drop files. A file that a driver has seen is gone; one that stays has a name that nobody listens to."""


def listened_to(pipeline: Pipeline) -> frozenset[str]:
    """The names of the signals that any trigger of a pipeline waits for."""
    return frozenset[str]().union(*(grouping.trigger.signals() for grouping in pipeline.groupings))


def raised(store: Store, known: Collection[str], now: Micros) -> list[Request]:
    """The signals that no epoch has taken, oldest first; files become requests.

    To be called between epochs only: what an epoch has planned must be :func:`forgotten <forget>` before.

    Args:
        store: the pipeline's state.
        known: the names that the pipeline listens to; without any, nothing is looked at.
        now: processing time.
    """
    if not known:
        return []
    waiting = [request for request in requests.pending(store) if request.signal in known]
    for name in store.list(FOLDER):
        if name not in known:
            log.warning("nobody listens to the signal of the file %s", store.child(f"{FOLDER}/{name}"))
            continue
        # A request of this name is either this file's, left by a crash between the next two lines, or as good as it.
        if all(request.signal != name for request in waiting):
            waiting.append(requests.request_signal(store, name, now, known))
        store.delete(f"{FOLDER}/{name}")
        store.sync(FOLDER)
    return waiting


def waiting(store: Store, known: Collection[str] | None) -> tuple[str, ...]:
    """The names of the signals that no committed epoch has taken, those of files among them. Changes nothing.

    Args:
        store: the pipeline's state.
        known: the names that the pipeline listens to, others are left out; None: the state does not say.
    """
    found = names(requests.pending(store)).union(store.list(FOLDER))
    return tuple(sorted(found if known is None else found.intersection(known)))


def names(raised: Iterable[Request]) -> frozenset[str]:
    return frozenset(request.signal for request in raised if request.signal is not None)


def forget(store: Store, taken: Iterable[str]) -> None:
    """Remove the requests that a committed epoch has taken, by id. Doing it again changes nothing."""
    requests.remove(store, taken)
