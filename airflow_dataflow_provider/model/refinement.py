"""Refinement modes: how the panes of one window relate to each other (Dataflow Model, section 2.3)."""

from __future__ import annotations

from enum import Enum
from typing import Self


class Refinement(Enum):
    """How a pane relates to the earlier panes of its window; prints as the constant's name."""

    DISCARDING = "discarding", "Each pane holds only the elements since the one before. Readers add panes up."
    ACCUMULATING = "accumulating", "Each pane holds all elements so far. Readers keep the last one."
    ACCUMULATING_AND_RETRACTING = (
        "accumulating-and-retracting",
        "Each pane holds all elements so far, and a retraction of the pane that it replaces precedes it.",
    )

    def __new__(cls, value: str, sentence: str) -> Self:
        """A member whose docstring is this sentence."""
        member = object.__new__(cls)
        member._value_, member.__doc__ = value, sentence
        return member

    def describe(self) -> str:
        return self.__doc__ or ""

    def __repr__(self) -> str:
        return self.name


DISCARDING = Refinement.DISCARDING
ACCUMULATING = Refinement.ACCUMULATING
ACCUMULATING_AND_RETRACTING = Refinement.ACCUMULATING_AND_RETRACTING
