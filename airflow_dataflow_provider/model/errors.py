"""One small hierarchy of errors, each with a stable code.

A message says *what* is wrong, *why* it matters and *what to do*. The codes are listed in ``docs/errors.md`` and do not
change between releases; programs should match on :attr:`DataflowError.code`, people on the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class DataflowError(Exception):
    """Base of every error this package raises on purpose.

    Args:
        what: what is wrong, in one clause.
        reason: why it is refused.
        hint: what the reader can do about it.
        where: the file and line of the user's code that is at fault, as far as that is known.
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
        """Survive pickling, so that the error keeps its code when it crosses a process border."""
        return (DataflowError.from_json, (self.to_json(),))

    def to_json(self) -> dict[str, Any]:
        """The error as data, for programs and for the way from one process to another."""
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
        """Read back :meth:`to_json`, with the class that the error had."""
        kinds = {kind.__name__: kind for kind in DataflowError.__subclasses__()}
        return kinds.get(document["kind"], DataflowError)(
            document["what"],
            reason=document["reason"],
            hint=document["hint"],
            where=document.get("where", ""),
            code=document["error"],
        )


class DefinitionError(DataflowError):
    """The pipeline, or one of its parts, cannot mean anything as written (codes ``DEFINITION_*``, ``TIME_*``)."""

    exit_code = 2


class SubmissionError(DataflowError):
    """The pipeline is sound, but cannot be run as asked (codes ``SUBMIT_*``, ``SOURCE_*``, ``ENGINE_*``)."""

    exit_code = 2


class StateError(DataflowError):
    """The state at this URL cannot serve this run (codes ``STATE_*``)."""

    exit_code = 3


class OwnershipError(DataflowError):
    """Another driver owns the pipeline, or has taken it over (codes ``OWNER_*``)."""

    exit_code = 4


class DataError(DataflowError):
    """The data is worse than the pipeline allows (codes ``DATA_*``)."""

    exit_code = 5


class InterruptedRunError(DataflowError):
    """A run was ended from outside before its work was done (code ``RUN_INTERRUPTED``)."""

    exit_code = 6


class EngineError(DataflowError):
    """Spark, the machine or this package itself failed, and the same run may succeed (``ENGINE_*``, ``INTERNAL_*``)."""

    exit_code = 1
