"""The owner of a pipeline: one driver at a time, with a token that fences all earlier ones."""

from __future__ import annotations

import dataclasses
import logging
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Final, Literal, Self, get_args

from airflow_dataflow_provider.model.errors import DataflowError, OwnershipError
from airflow_dataflow_provider.model.time import Micros, duration, duration_text, from_iso, iso
from airflow_dataflow_provider.progress.log.records import check_mode
from airflow_dataflow_provider.progress.ownership.process import Process
from airflow_dataflow_provider.progress.store.documents import bad_record, load_document
from airflow_dataflow_provider.progress.store.numbered import NumberedFiles
from airflow_dataflow_provider.progress.store.store import Json, Store
from airflow_dataflow_provider.progress.wall import wall_clock

HEARTBEAT_TIMEOUT: Final[Micros] = duration("60s")
"""The age of a heartbeat at which a driver is taken to be lost."""

HEARTBEAT_EVERY: Final[Micros] = duration("10s")
"""The time between two heartbeats."""

OwnerState = Literal["starting", "running", "stopped", "failed", "fenced"]
"""The state that a driver last reported."""

Liveness = Literal["alive", "released", "gone", "silent"]
"""A driver as others see it: ``gone`` is a process known to have ended, ``silent`` a heartbeat that is too old."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnerInfo:
    """A claim on a pipeline, and the last heartbeat of its driver.

    Args:
        token: the number of the claim. A higher one fences it.
        claim_id: unique to this claim.
        host, pid, process_started, boot: the driver's process (:class:`.process.Process`).
        mode: the runtime mode of the run.
        run_id: the id of the run.
        claimed_at: the time of the claim, by the driver's clock.
        heartbeat_timeout: the age of a heartbeat at which this driver is taken to be lost, in microseconds.
        application_id: the id of the Spark application, once known.
        ui: the address of Spark's page, once known.
        state: the state of the driver in its last heartbeat.
        heartbeat_at: the time of the last heartbeat, by the driver's clock.
        detail: more about the state, for people.
        error: the error that ended the driver, if it was one of this package.
    """

    token: int
    claim_id: str
    host: str
    pid: int
    process_started: int | None
    boot: str | None
    mode: str
    run_id: str
    claimed_at: Micros
    heartbeat_timeout: Micros
    application_id: str | None = None
    ui: str | None = None
    state: OwnerState = "starting"
    heartbeat_at: Micros = 0
    detail: str = ""
    error: DataflowError | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        check_mode(self.mode)
        if self.token < 1 or self.heartbeat_timeout <= 0:
            raise bad_record(f"claim {self.token}: the token and the heartbeat's timeout must be positive")
        if self.state not in get_args(OwnerState):
            raise bad_record(f"claim {self.token}: state {self.state!r} is none of {', '.join(get_args(OwnerState))}")

    @property
    def process(self) -> Process:
        return Process(self.host, self.boot, self.pid, self.process_started)

    def liveness(self, now: Micros) -> Liveness:
        """The driver as others see it. Its clock and the caller's should agree within a fraction of the timeout."""
        if self.state not in {"starting", "running"}:
            return "released"
        if self.process.is_gone():
            return "gone"
        return "alive" if now - self.heartbeat_at <= self.heartbeat_timeout else "silent"

    def describe(self) -> str:
        """The driver and its run, for messages."""
        application = f", application {self.application_id}" if self.application_id else ""
        return (
            f"{self.mode} run {self.run_id!r} (claim {self.token}, process {self.pid} on {self.host}{application}, "
            f"since {iso(self.claimed_at)}, last heartbeat {iso(self.heartbeat_at)})"
        )

    def to_json(self) -> Json:
        """The claim and its heartbeat as one object."""
        return {**self.claim_to_json(), **self.beat_to_json()}

    def claim_to_json(self) -> Json:
        """The document of the claim, which never changes."""
        return {
            "token": self.token,
            "claim_id": self.claim_id,
            "host": self.host,
            "pid": self.pid,
            "process_started": self.process_started,
            "boot": self.boot,
            "mode": self.mode,
            "run_id": self.run_id,
            "claimed_at": iso(self.claimed_at),
            "heartbeat_timeout": duration_text(self.heartbeat_timeout),
        }

    def beat_to_json(self) -> Json:
        """The document of the heartbeat; the next one replaces it."""
        return {
            "at": iso(self.heartbeat_at),
            "state": self.state,
            "detail": self.detail,
            "error": None if self.error is None else self.error.to_json(),
            "application_id": self.application_id,
            "ui": self.ui,
        }

    @classmethod
    def from_json(cls, document: Json) -> OwnerInfo:
        """The value that :meth:`to_json` wrote, or a claim without a heartbeat."""
        claimed_at, error = from_iso(document["claimed_at"]), document.get("error")
        return cls(
            token=document["token"],
            claim_id=document["claim_id"],
            host=document["host"],
            pid=document["pid"],
            process_started=document["process_started"],
            boot=document["boot"],
            mode=document["mode"],
            run_id=document["run_id"],
            claimed_at=claimed_at,
            heartbeat_timeout=duration(document["heartbeat_timeout"]),
            application_id=document.get("application_id"),
            ui=document.get("ui"),
            state=document.get("state", "starting"),
            heartbeat_at=from_iso(document["at"]) if "at" in document else claimed_at,
            detail=document.get("detail", ""),
            error=None if error is None else DataflowError.from_json(error),
        )


def present_owner(store: Store) -> OwnerInfo | None:
    """The newest claim, with its last heartbeat; None if the pipeline was never claimed."""
    newest = next(claim_files(store).newest_first(_CLAIM), None)
    return None if newest is None else _read(store, newest[0])


class Ownership:
    """A driver's ownership of a pipeline, from :meth:`claim` until :meth:`release` or until it is fenced.

    Guarantees:
        Of several drivers that claim at once, one wins. A fenced driver learns of it at its next :meth:`check`. A
        heartbeat after :meth:`release` is ignored.
    """

    def __init__(self, store: Store, info: OwnerInfo) -> None:
        self._store = store
        self._info = info
        self._lock = threading.Lock()

    @classmethod
    def claim(
        cls,
        store: Store,
        *,
        mode: str,
        run_id: str,
        now: Micros,
        heartbeat_timeout: Micros = HEARTBEAT_TIMEOUT,
        take_over: bool = False,
    ) -> Ownership:
        """Claim a pipeline that has no living driver.

        A driver does not live if it has released its claim, if its process is known to have ended, or if its heartbeat
        is older than its timeout.

        Args:
            store: the pipeline's state.
            mode: the runtime mode of this run.
            run_id: the id of this run.
            now: processing time.
            heartbeat_timeout: the age of a heartbeat at which this driver is taken to be lost.
            take_over: fence a living driver, too.

        Raises:
            OwnershipError: ``OWNER_HELD``, naming the living driver, or the one that claimed first.
        """
        present = present_owner(store)
        if present is not None and not take_over and present.liveness(now) == "alive":
            raise _held(store, present)
        process = Process.current()
        info = OwnerInfo(
            token=1 if present is None else present.token + 1,
            claim_id=uuid.uuid4().hex,
            host=process.host,
            pid=process.pid,
            process_started=process.started,
            boot=process.boot,
            mode=mode,
            run_id=run_id,
            claimed_at=now,
            heartbeat_timeout=heartbeat_timeout,
            heartbeat_at=now,
        )
        stored = store.put_if_absent(claim_files(store).path(info.token, _CLAIM), info.claim_to_json())
        if stored["claim_id"] != info.claim_id:
            raise _held(store, OwnerInfo.from_json(stored))
        ownership = cls(store, info)
        ownership.touch(now)
        return ownership

    @property
    def info(self) -> OwnerInfo:
        """The claim, with the last heartbeat."""
        return self._info

    @property
    def token(self) -> int:
        """The fencing token, which is part of every document that this driver writes."""
        return self._info.token

    def heartbeat(
        self,
        now: Micros,
        state: Literal["starting", "running"] = "running",
        application_id: str | None = None,
        ui: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Write a heartbeat with a state. An argument that is None keeps its last value."""
        with self._lock:
            info = dataclasses.replace(self._info, heartbeat_at=now, state=state)
            info = info if application_id is None else dataclasses.replace(info, application_id=application_id)
            info = info if ui is None else dataclasses.replace(info, ui=ui)
            self._write(info if detail is None else dataclasses.replace(info, detail=detail))

    def touch(self, now: Micros) -> None:
        """Write a heartbeat without any other change."""
        with self._lock:
            self._write(dataclasses.replace(self._info, heartbeat_at=now))

    def check(self) -> None:
        """Check that no other driver has taken over, with one read of the store.

        Raises:
            OwnershipError: ``OWNER_FENCED``, naming the driver that has.
        """
        if not self._store.exists(claim_files(self._store).path(self.token + 1, _CLAIM)):
            return
        newer = present_owner(self._store)
        raise OwnershipError(
            f"claim {self.token} (run {self._info.run_id!r}) on {self._store.url} was taken over"
            + (f" by the {newer.describe()}" if newer else ""),
            reason="two drivers would commit the same epochs",
            hint="nothing: this driver ends, and the other continues after the last committed epoch",
            code="OWNER_FENCED",
        )

    def release(
        self,
        now: Micros,
        state: Literal["stopped", "failed", "fenced"] = "stopped",
        reason: BaseException | str | None = None,
    ) -> None:
        """Record that the driver has ended, and why. Only the first release counts."""
        with self._lock:
            info = dataclasses.replace(self._info, heartbeat_at=now, state=state)
            if reason is not None:
                error = reason if isinstance(reason, DataflowError) else None
                info = dataclasses.replace(info, detail=str(reason) or type(reason).__name__, error=error)
            self._write(info)

    def _write(self, info: OwnerInfo) -> None:
        if self._info.state in {"starting", "running"}:
            self._store.write_json(claim_files(self._store).path(info.token, _BEAT), info.beat_to_json())
            self._info = info


def fence_silent(store: Store, now: Micros) -> OwnerInfo | None:
    """Fence the owner if its heartbeat is too old, so that it commits nothing more.

    Returns:
        The fenced driver; None if the owner is not silent.

    Raises:
        OwnershipError: ``OWNER_HELD``, if it has sent a heartbeat meanwhile, or another driver has claimed.
    """
    silent = present_owner(store)
    if silent is None or silent.liveness(now) != "silent":
        return None
    ownership = Ownership.claim(store, mode=silent.mode, run_id=f"stop-{silent.run_id}", now=now)
    ownership.release(now, "stopped", f"the {silent.describe()} was silent, and was fenced by a stop")
    return silent


class Heart:
    """A thread that writes an ownership's heartbeats while the job runs, and detects when the job was fenced.

    It never raises into the job: it logs and repeats a heartbeat that cannot be written, and :meth:`check` reports that
    the job was fenced. It does not release the ownership.

    Args:
        ownership: the ownership.
        every: the time between two heartbeats, in microseconds.
        clock: reads processing time.
    """

    def __init__(
        self, ownership: Ownership, every: Micros = HEARTBEAT_EVERY, *, clock: Callable[[], Micros] = wall_clock
    ) -> None:
        self._ownership, self._every, self._clock = ownership, every, clock
        self._fenced: OwnershipError | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dataflow-heart", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def fenced(self) -> bool:
        """Whether the thread has found that another driver has taken over."""
        return self._fenced is not None

    def check(self) -> None:
        """Raise the thread's finding, without a read of the store.

        Raises:
            OwnershipError: ``OWNER_FENCED``.
        """
        if self._fenced is not None:
            raise self._fenced

    def _run(self) -> None:
        while not self.fenced:
            try:
                self._beat()
            except Exception:  # noqa: BLE001 - the job must not fail because the store is unavailable for a moment
                _log.warning("The heartbeat could not be written; it will be tried again", exc_info=True)
            if self._stop.wait(self._every / 1_000_000):
                return

    def _beat(self) -> None:
        try:
            self._ownership.check()
            self._ownership.touch(self._clock())
        except OwnershipError as error:
            self._fenced = error
            self._ownership.release(self._clock(), "fenced")


_CLAIM: Final = "json"
_BEAT: Final = "beat.json"


def claim_files(store: Store) -> NumberedFiles:
    return NumberedFiles(store, "owners", digits=8)


def _read(store: Store, token: int) -> OwnerInfo | None:
    files = claim_files(store)

    def with_beat(claim: Json) -> OwnerInfo:
        return OwnerInfo.from_json({**claim, **(load_document(store, files.path(token, _BEAT), dict) or {})})

    return load_document(store, files.path(token, _CLAIM), with_beat)


def _held(store: Store, holder: OwnerInfo) -> OwnershipError:
    return OwnershipError(
        f"{store.url} is driven by the {holder.describe()}",
        reason="two drivers would commit the same epochs",
        hint="wait for it, stop it (a stop request), or fence it by taking over (--take-over)",
        code="OWNER_HELD",
    )
