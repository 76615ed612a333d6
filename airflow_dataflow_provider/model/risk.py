"""The risks of a plan, which :mod:`~airflow_dataflow_provider.model.proofs` finds."""

from __future__ import annotations

from enum import StrEnum


class Risk(StrEnum):
    """A risk of a plan. The plan is refused, unless ``accept=`` names the risk."""

    MAY_LOSE_DATA = "may-lose-data"
    """Elements after the last firing are published only when their window expires, and never if it has no end."""
    MAY_NEVER_FIRE = "may-never-fire"
    """A window may never publish a pane."""
    NEEDS_RETRACTION = "needs-retraction"
    """Readers keep results that are no longer valid, or count elements twice."""

    def __repr__(self) -> str:
        return f"Risk.{self.name}"
