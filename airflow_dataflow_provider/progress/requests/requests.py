"""Requests to a driver from outside: stop, drain, take a signal, forget a file."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from airflow_dataflow_provider.model.errors import OwnershipError, StateError, SubmissionError
from airflow_dataflow_provider.model.time import Micros, duration, from_iso, iso, to_datetime
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.ownership.owner import present_owner
from airflow_dataflow_provider.progress.store.documents import bad_record, load_document
from airflow_dataflow_provider.progress.store.store import Json, Store

RequestKind = Literal["stop", "drain", "signal", "forget"]
"""``stop``: end after the present epoch and keep the state. ``drain``: fire every open window, then end. ``signal``:
raise a named signal. ``forget``: wait no longer for a file that was left out."""

_FOLDER: Final = "requests"
_DONE: Final = ".done.json"
_NAME: Final = re.compile(r"(\d+T\d+Z-[0-9a-f]{8})(\.json|\.done\.json)")
_KEPT_FOR: Final[Micros] = duration("7d")
"""How long a request is kept after it was taken, or when no driver can take it."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to a pipeline's driver.

    Args:
        id: unique, and sorts by time.
        kind: the kind.
        signal: the name of the signal; None for other kinds.
        addressed_to: the claim that is to end (0: there was none); None for requests that any driver takes.
        requested_at: the time of the request, by the clock of its sender.
        path: the file to forget; None for other kinds.
    """

    id: str
    kind: RequestKind
    signal: str | None
    addressed_to: int | None
    requested_at: Micros
    path: str | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(RequestKind):
            raise bad_record(f"request {self.id}: kind {self.kind!r} is none of {', '.join(get_args(RequestKind))}")
        if (self.kind == "signal") != bool(self.signal) or (self.kind == "forget") != bool(self.path):
            raise bad_record(f"request {self.id}: only a signal has a name, and only a file to forget has a path")
        if (self.kind in {"stop", "drain"}) != (self.addressed_to is not None):
            raise bad_record(f"request {self.id}: only a stop or a drain has an address")

    def to_json(self) -> Json:
        return {
            "id": self.id,
            "kind": self.kind,
            "signal": self.signal,
            "addressed_to": self.addressed_to,
            "requested_at": iso(self.requested_at),
            **({} if self.path is None else {"path": self.path}),
        }

    @classmethod
    def from_json(cls, document: Json) -> Request:
        return cls(
            id=document["id"],
            kind=document["kind"],
            signal=document["signal"],
            addressed_to=document["addressed_to"],
            requested_at=from_iso(document["requested_at"]),
            path=document.get("path"),
        )


def request_stop(store: Store, now: Micros, drain: bool = False) -> Request:
    """Ask the present driver to end after its epoch; with ``drain``, to fire every open window first.

    The request is addressed to the newest claim. It does not stop a driver that starts later.

    Raises:
        StateError: ``STATE_ABSENT``, if there is no pipeline here.
    """
    require_pipeline(store)
    owner = present_owner(store)
    kind: RequestKind = "drain" if drain else "stop"
    return _put(store, Request(_new_id(now), kind, None, 0 if owner is None else owner.token, now))


def request_signal(store: Store, name: str, now: Micros, known: Collection[str] | None = None) -> Request:
    """Raise a named signal. The next epoch takes it, in this run or a later one.

    Args:
        store: the pipeline's state.
        name: the name of the signal.
        now: processing time.
        known: the names that the pipeline waits for, if the caller knows them; the state need not exist then. By
            default they are read from the state (that of an older release does not have them, and takes any name).

    Raises:
        StateError: ``STATE_ABSENT``, if there is no pipeline here.
        SubmissionError: ``SUBMIT_SIGNAL``, if no trigger of the pipeline waits for it.
    """
    pipeline = identity.load(store)
    if pipeline is None and known is None:
        raise absent(store)
    known = known if known is not None or pipeline is None else pipeline.signals
    if known is not None:
        refuse_unheard(name, known)
    return _put(store, Request(_new_id(now), "signal", name, None, now))


def request_forget(store: Store, paths: Iterable[str], left_out: Collection[str], now: Micros) -> list[Request]:
    """Ask the present or next driver to wait no longer for files that are left out.

    Args:
        store: the pipeline's state.
        paths: the files.
        left_out: the files that are left out now.
        now: processing time.

    Raises:
        SubmissionError: ``SUBMIT_FORGET`` for a file that is not left out.
    """
    paths = list(paths)
    unknown = [path for path in paths if path not in left_out]
    if unknown:
        raise SubmissionError(
            f"{unknown[0]!r} is not left out",
            reason="only a file that was planned and is not read can be forgotten",
            hint=f"name one of {', '.join(sorted(left_out))}"
            if left_out
            else "nothing is left out: nothing is to be done",
            code="SUBMIT_FORGET",
        )
    return [_put(store, Request(_new_id(now), "forget", None, None, now, path)) for path in paths]


def refuse_unheard(name: str, known: Collection[str]) -> None:
    """Refuse a signal that no trigger waits for: it would have no effect.

    Raises:
        SubmissionError: ``SUBMIT_SIGNAL``, with the names that are waited for.
    """
    if name not in known:
        raise SubmissionError(
            f"no trigger of the pipeline waits for the signal {name!r}",
            reason="the signal would have no effect",
            hint=f"raise one of {', '.join(sorted(known))}" if known else "its triggers wait for no signal at all",
            code="SUBMIT_SIGNAL",
        )


def pending(store: Store, *, token: int | None = None) -> list[Request]:
    """The requests that no driver has taken, oldest first.

    Args:
        store: the pipeline's state.
        token: the claim of the driver; by default the newest. Requests to other claims are left out.
    """
    ids, done = _listed(store)
    found = [
        load_document(store, f"{_FOLDER}/{request}.json", Request.from_json) for request in ids if request not in done
    ]
    if not found:
        return []
    if token is None:
        owner = present_owner(store)
        token = 0 if owner is None else owner.token
    return [request for request in found if request is not None and request.addressed_to in {None, token}]


def acknowledge(store: Store, request: Request, now: Micros, by_token: int) -> None:
    """Record that a driver has taken a request, once its effect is durable. A repetition changes nothing.

    Raises:
        OwnershipError: ``OWNER_FENCED``, if the request is addressed to another driver.
    """
    if request.addressed_to not in {None, by_token}:
        raise OwnershipError(
            f"{request.kind} request {request.id} is addressed to claim {request.addressed_to}, not to {by_token}",
            reason="a driver that takes a request to another driver would hide it from that one",
            hint="take only requests that requests.pending returns for the driver's own token",
            code="OWNER_FENCED",
        )
    store.put_if_absent(f"{_FOLDER}/{request.id}{_DONE}", {"id": request.id, "at": iso(now), "token": by_token})


def remove(store: Store, request_ids: Iterable[str]) -> None:
    """Delete requests, where another document records that they were taken. Absent ones are ignored."""
    gone = [f"{_FOLDER}/{request_id}.json" for request_id in request_ids]
    for path in gone:
        store.delete(path)
    if gone:
        store.sync(_FOLDER)  # a request that reappears after a power cut would be taken twice


def sweep(store: Store, token: int, now: Micros) -> None:
    """Delete requests that are a week old and that no driver will take any more.

    Args:
        store: the pipeline's state.
        token: the newest claim. Drivers of older claims take no requests.
        now: processing time.
    """
    ids, done = _listed(store)
    gone = []
    for each in ids:
        request = load_document(store, f"{_FOLDER}/{each}.json", Request.from_json)
        if request is None or now - request.requested_at < _KEPT_FOR:
            continue
        if request.id in done or (request.addressed_to is not None and request.addressed_to < token):
            gone.append(request.id)
    remove(store, gone)  # before the answers: a request without an answer would be taken again
    alone = done.difference(ids)
    for answered in alone.union(done.intersection(gone)):
        store.delete(f"{_FOLDER}/{answered}{_DONE}")


def _put(store: Store, request: Request) -> Request:
    store.put_if_absent(f"{_FOLDER}/{request.id}.json", request.to_json())
    return request


def _listed(store: Store) -> tuple[list[str], set[str]]:
    """The ids of the requests and of the answers; other files are ignored."""
    found = [_NAME.fullmatch(name) for name in store.list(_FOLDER)]
    ids = [name[1] for name in found if name is not None and name[2] == ".json"]
    return ids, {name[1] for name in found if name is not None and name[2] == _DONE}


def _new_id(now: Micros) -> str:
    moment = to_datetime(now)
    if moment is None:
        raise bad_record(f"a request cannot be made at {iso(now)}")
    return f"{moment:%Y%m%dT%H%M%S%fZ}-{uuid.uuid4().hex[:8]}"


def require_pipeline(store: Store) -> None:
    """Refuse a URL without a pipeline.

    Raises:
        StateError: ``STATE_ABSENT``.
    """
    if identity.load(store) is None:
        raise absent(store)


def absent(store: Store) -> StateError:
    """The error for a URL without a pipeline."""
    return StateError(
        f"there is no pipeline state at {store.url}",
        reason="no run has started there yet, or the URL is wrong",
        hint="check the URL, or start the pipeline once",
        code="STATE_ABSENT",
    )
