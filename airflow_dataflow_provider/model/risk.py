"""What a plan may risk (:mod:`~airflow_dataflow_provider.model.proofs` finds it out)."""

from __future__ import annotations

from enum import StrEnum


class Risk(StrEnum):
    """What a plan may do that its user has to know of; ``accept=`` names those that are wanted."""

    MAY_LOSE_DATA = "may-lose-data"
    """Elements after the last firing are published only when their window expires, and never if it has no end."""
    MAY_NEVER_FIRE = "may-never-fire"
    """A window may wait for ever for its pane."""
    NEEDS_RETRACTION = "needs-retraction"
    """Readers keep results that do not hold any more, or add up what must not be added."""

    def __repr__(self) -> str:
        return f"Risk.{self.name}"
