"""How refinements of one window relate to each other (Dataflow Model, section 2.3)."""

from __future__ import annotations

from enum import Enum


class Refinement(Enum):
    """What a pane says about the panes before it; prints as the constant's name."""

    DISCARDING = "discarding"
    """Each pane holds only what came since the last one: consumers add them up."""
    ACCUMULATING = "accumulating"
    """Each pane holds everything so far: consumers overwrite."""
    ACCUMULATING_AND_RETRACTING = "accumulating-and-retracting"
    """As accumulating, and each pane is preceded by a retraction of the one it replaces."""

    def __repr__(self) -> str:
        return self.name


DISCARDING = Refinement.DISCARDING
ACCUMULATING = Refinement.ACCUMULATING
ACCUMULATING_AND_RETRACTING = Refinement.ACCUMULATING_AND_RETRACTING
