"""FLIP-134's runtime modes, and the boundedness of sources."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from airflow_dataflow_provider.model.errors import DefinitionError, SubmissionError


class Boundedness(StrEnum):
    """Whether a source ends."""

    BOUNDED = "bounded"
    UNBOUNDED = "unbounded"


class RuntimeMode(StrEnum):
    """The runtime mode of a run, chosen at submission: it decides where the epochs come from."""

    BATCH = "batch", "One epoch over the input that is there, then the end of input, at which every open window fires."
    MICRO_BATCH = "micro-batch", "Epochs until the backlog is read, then one of the clock alone. The state is kept."
    STREAMING = "streaming", "Epochs until it is asked to stop."
    AUTOMATIC = "automatic", "BATCH when the source is bounded, STREAMING otherwise."

    def __new__(cls, value: str, sentence: str = "") -> Self:
        """A member whose docstring is this sentence."""
        member = str.__new__(cls, value)
        member._value_, member.__doc__ = value, sentence
        return member

    def describe(self) -> str:
        return self.__doc__ or ""

    @classmethod
    def parse(cls, text: str) -> RuntimeMode:
        """Read a mode as users write it (case and ``_``/``-`` do not matter).

        Raises:
            DefinitionError: ``SUBMIT_MODE``.
        """
        try:
            return cls(text.strip().lower().replace("_", "-"))
        except ValueError:
            raise DefinitionError(
                f"mode={text!r} is not a runtime mode",
                hint=f"choose one of {', '.join(mode.value for mode in cls)}",
                code="SUBMIT_MODE",
            ) from None

    def resolve(self, source: Boundedness, *, has_interval: bool) -> RuntimeMode:
        """The mode of the run, with AUTOMATIC resolved.

        Raises:
            SubmissionError: ``SUBMIT_UNBOUNDED_BATCH`` for a batch over an unbounded source without an interval;
                ``SUBMIT_INTERVAL_MODE`` for an interval in another mode.
        """
        mode = self
        if mode is RuntimeMode.AUTOMATIC:
            bounded = source is Boundedness.BOUNDED or has_interval
            mode = RuntimeMode.BATCH if bounded else RuntimeMode.STREAMING
        if mode is RuntimeMode.BATCH and source is Boundedness.UNBOUNDED and not has_interval:
            raise SubmissionError(
                "batch mode was asked for, but the source is unbounded",
                reason="a batch ends with its input, and this input never ends",
                hint="give an interval (--from, --to), or choose micro-batch or streaming",
                code="SUBMIT_UNBOUNDED_BATCH",
            )
        if mode is not RuntimeMode.BATCH and has_interval:
            raise SubmissionError(
                f"an interval was given, but mode {mode.value} has none",
                reason="micro-batch and streaming runs follow their source from where the state stands",
                hint="drop --from and --to, or choose batch",
                code="SUBMIT_INTERVAL_MODE",
            )
        return mode
