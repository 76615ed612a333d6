"""The errors of this package, each with a stable code.

A message says *what* is wrong, *why* it matters and *what to do*. The codes are listed in ``docs/errors.md`` and do not
change between releases. Programs should match on :attr:`DataflowError.code`, since texts may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class DataflowError(Exception):
    """The base of every error that this package raises on purpose.

    Args:
        what: what is wrong, in one clause.
        reason: why it is refused.
        hint: what to do about it.
        where: the file and line of the user's code, if known.
        code: a stable code of the form ``AREA_PROBLEM``.
    """

    exit_code: ClassVar[int] = 1
    """The exit status of the command line when this error ends it (``docs/reference/command-line.md``)."""

    def __init__(self, what: str, *, reason: str = "", hint: str = "", where: str = "", code: str) -> None:
        self.what, self.reason, self.hint, self.where, self.code = what, reason, hint, where, code
        super().__init__(what)

    def __str__(self) -> str:
        parts = (("Why", self.reason), ("What to do", self.hint), ("Where", self.where))
        return "\n".join([f"[{self.code}] {self.what}", *(f"{name}: {text}" for name, text in parts if text)])

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all fields, so that an error from another process keeps its code."""
        return (DataflowError.from_json, (self.to_json(),))

    def to_json(self) -> dict[str, Any]:
        """The error as JSON, for programs and other processes."""
        return {
            "error": self.code,
            "kind": type(self).__name__,
            "what": self.what,
            "reason": self.reason,
            "hint": self.hint,
            "where": self.where,
        }

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> DataflowError:
        """The error that :meth:`to_json` wrote, with its class."""
        kinds = {kind.__name__: kind for kind in DataflowError.__subclasses__()}
        return kinds.get(document["kind"], DataflowError)(
            document["what"],
            reason=document["reason"],
            hint=document["hint"],
            where=document.get("where", ""),
            code=document["error"],
        )


class DefinitionError(DataflowError):
    """The pipeline, or one of its parts, is not valid (codes ``DEFINITION_*``, ``TIME_*``)."""

    exit_code = 2


class SubmissionError(DataflowError):
    """The pipeline is valid, but cannot run as requested (codes ``SUBMIT_*``, ``SOURCE_*``, ``ENGINE_*``)."""

    exit_code = 2


class StateError(DataflowError):
    """The state at this URL cannot be used for this run (codes ``STATE_*``)."""

    exit_code = 3


class OwnershipError(DataflowError):
    """Another driver owns the pipeline, or has taken it over (codes ``OWNER_*``)."""

    exit_code = 4


class DataError(DataflowError):
    """More of the data is bad than the pipeline allows (codes ``DATA_*``)."""

    exit_code = 5


class InterruptedRunError(DataflowError):
    """A run was ended from outside before its work was done (code ``RUN_INTERRUPTED``)."""

    exit_code = 6


class EngineError(DataflowError):
    """Spark, the machine or this package itself failed, and the same run may succeed (``ENGINE_*``, ``INTERNAL_*``)."""

    exit_code = 1
