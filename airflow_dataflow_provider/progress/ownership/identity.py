"""The identity of a state's pipeline, and the check that a definition fits the state."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.model.time import Micros, from_iso, iso
from airflow_dataflow_provider.progress.log.epoch_documents import has_epochs
from airflow_dataflow_provider.progress.store.documents import bad_record, load_document, parse_document
from airflow_dataflow_provider.progress.store.store import Json, Store

FORMAT_VERSION: Final = 2
"""The layout of the state folder. A release reads its own and those of all earlier releases."""
_FIRST_RELEASED: Final = 2

_PATH: Final = "pipeline.json"
_PINNED: Final = "definition.json"
_SCHEMA: Final = "schema"


@dataclass(frozen=True, slots=True)
class PipelineIdentity:
    """The pipeline that a state belongs to, as it was when the state was created.

    Args:
        name: the pipeline's name.
        state_id: unique to this state.
        fingerprint: the fingerprint of the definition.
        definition: the definition, as the code that makes it.
        shape: the parts of the definition that the state depends on, each as text.
        partitions: the number of state partitions.
        created_at: processing time.
        signals: the names of the signals that its triggers wait for; None where they were not recorded.
        format_version: the layout of the folder.
    """

    name: str
    state_id: str
    fingerprint: str
    definition: str
    shape: Mapping[str, str]
    partitions: int
    created_at: Micros
    signals: frozenset[str] | None = None
    format_version: int = FORMAT_VERSION

    def __post_init__(self) -> None:
        if not self.name or self.partitions < 1:
            raise bad_record(
                f"pipeline {self.name!r} with {self.partitions!r} partitions: it needs a name and a partition"
            )

    def to_json(self) -> Json:
        return {
            "format_version": self.format_version,
            "name": self.name,
            "state_id": self.state_id,
            "fingerprint": self.fingerprint,
            "partitions": self.partitions,
            "created_at": iso(self.created_at),
            **({} if self.signals is None else {"signals": sorted(self.signals)}),
            "shape": dict(self.shape),
            "definition": self.definition,
        }

    @classmethod
    def from_json(cls, document: Json) -> PipelineIdentity:
        return cls(
            name=document["name"],
            state_id=document["state_id"],
            fingerprint=document["fingerprint"],
            definition=document["definition"],
            shape=dict(document["shape"]),
            partitions=document["partitions"],
            created_at=from_iso(document["created_at"]),
            signals=frozenset(document["signals"]) if "signals" in document else None,
            format_version=document["format_version"],
        )


def load(store: Store) -> PipelineIdentity | None:
    """The pipeline of this state; None where there is no state.

    Raises:
        StateError: ``STATE_FORMAT``, if a newer release wrote it; ``STATE_UNREADABLE``.
    """
    document = load_document(store, _PATH, dict)
    return None if document is None else _parsed(store, {**document, **_pinned(store)})


def ensure(
    store: Store,
    *,
    name: str,
    fingerprint: str,
    definition: str,
    shape: Mapping[str, str],
    partitions: int,
    now: Micros,
    signals: frozenset[str] | None = None,
) -> PipelineIdentity:
    """Create the state of a pipeline, or check that the existing one belongs to it and that the definition fits.

    Parts of the definition that are not in ``shape`` may change. The number of partitions of an existing state stays.
    Before the definition is pinned (:func:`pin`), both may change.

    Returns:
        The stored identity; before the definition is pinned, with the definition of the caller.

    Raises:
        StateError: ``STATE_OTHER_PIPELINE``, ``STATE_DEFINITION_CHANGED``, ``STATE_FORMAT``, ``STATE_UNREADABLE``, or
            ``STATE_FILESYSTEM`` where the store has no exclusive creation.
    """
    ours = PipelineIdentity(name, uuid.uuid4().hex, fingerprint, definition, shape, partitions, now, signals)
    stored = load(store)
    if stored is None:
        stored = _parsed(store, store.put_if_absent(_PATH, ours.to_json()))
        if stored.state_id == ours.state_id:
            _check_exclusive_create(store)
    if stored.name != name:
        raise StateError(
            f"{store.url} holds the state of pipeline {stored.name!r}, not of {name!r}",
            reason="two pipelines in one state would mix their keys, windows and watermarks",
            hint="give each pipeline a state URL of its own",
            code="STATE_OTHER_PIPELINE",
        )
    if not (_pinned(store) or has_epochs(store)):
        return replace(ours, state_id=stored.state_id, created_at=stored.created_at)
    _refuse_changes(store, stored, shape)
    return stored


def pin(store: Store, ours: PipelineIdentity, schema: bytes) -> tuple[PipelineIdentity, bytes]:
    """Fix the definition and the column types of a state, right before the first epoch is planned.

    After a run that fails before that, the definition can still change. The document is created once and never replaced
    or deleted, so a suspended driver cannot change it.

    Args:
        store: the pipeline's state.
        ours: the pipeline of this driver.
        schema: the types, as an Arrow file without rows.

    Returns:
        The stored identity and types.

    Raises:
        StateError: ``STATE_DEFINITION_CHANGED`` where another driver has pinned another definition.
    """
    document = {name: value for name, value in ours.to_json().items() if name in _OF_THE_DEFINITION}
    stored = store.put_if_absent(_PINNED, {**document, _SCHEMA: schema.hex()})
    _refuse_changes(store, replace(ours, shape=stored["shape"]), ours.shape)
    return _parsed(store, {**ours.to_json(), **stored}), bytes.fromhex(stored[_SCHEMA])


def pinned_schema(store: Store) -> bytes | None:
    """The types of the columns that :func:`pin` has fixed; None before that."""
    pinned = _pinned(store)
    return bytes.fromhex(pinned[_SCHEMA]) if pinned else None


_OF_THE_DEFINITION: Final = ("fingerprint", "partitions", "signals", "shape", "definition")
"""The document of the part of an identity that :func:`pin` fixes."""


def _pinned(store: Store) -> Json:
    return load_document(store, _PINNED, dict) or {}


def _refuse_changes(store: Store, stored: PipelineIdentity, shape: Mapping[str, str]) -> None:
    changes = _changes(stored.shape, shape)
    if changes:
        raise StateError(
            f"the definition of {stored.name!r} no longer fits its state at {store.url}: " + "; ".join(changes),
            reason="the stored state of open windows has another meaning under the new definition",
            hint="run the new definition on a new state URL and backfill the past, or restore the old definition",
            code="STATE_DEFINITION_CHANGED",
        )


def _parsed(store: Store, document: Json) -> PipelineIdentity:
    version = document.get("format_version")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise StateError(
            f"{store.url} has format {version}, this release reads formats up to {FORMAT_VERSION}",
            reason="a newer release wrote it",
            hint="upgrade airflow-dataflow-provider wherever this state is read",
            code="STATE_FORMAT",
        )
    if isinstance(version, int) and version < _FIRST_RELEASED:
        raise StateError(
            f"{store.url} has format {version}, which was never released",
            reason="its epoch log does not name the files that were read",
            hint="start anew at another state URL and backfill the past",
            code="STATE_FORMAT",
        )
    return parse_document(store, _PATH, document, PipelineIdentity.from_json)


def _changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """Each changed part, in the new definition's order, then the removed ones."""
    parts = [*new, *(part for part in old if part not in new)]
    return [
        f"{part}: {old.get(part, '(none)')} -> {new.get(part, '(none)')}"
        for part in parts
        if old.get(part) != new.get(part)
    ]


def _check_exclusive_create(store: Store) -> None:
    """Try to create an existing document: some object stores ignore the condition of the request."""
    data = store.read(_PATH)
    try:
        store.create(_PATH, data)
    except FileExistsError:
        return
    raise StateError(
        f"{store.url} lets a second writer create a document that exists",
        reason="two drivers could both believe that they own the pipeline",
        hint="use a store that honours conditional writes (If-None-Match), or a shared disk",
        code="STATE_FILESYSTEM",
    )
