"""AfterWatermark: early panes, one on time, late panes."""

from __future__ import annotations

from airflow_dataflow_provider.model.triggers.clocks import AtWatermark
from airflow_dataflow_provider.model.triggers.composites import Repeat, RepeatUntil, SequenceOf
from airflow_dataflow_provider.model.triggers.trigger import Trigger


def AfterWatermark(*, early: Trigger | None = None, late: Trigger | None = None) -> Trigger:  # noqa: N802 - as in Beam
    """Early panes until the watermark reaches the end of the window, one then, and late panes after it.

    It is a short form, and prints as the triggers that it stands for::

        AfterWatermark(early=AtPeriod("1m"), late=AtCount(10))
        SequenceOf(RepeatUntil(AtPeriod("1m"), AtWatermark()), Repeat(AtCount(10)))

    Args:
        early: repeated until the watermark reaches the end of the window. None: no early panes.
        late: repeated after that. None: each epoch with late elements publishes them (Beam would drop them).

    Raises:
        DefinitionError: ``DEFINITION_TRIGGER`` for an argument that is not a trigger.
    """
    if late is None and early is None:
        return Repeat(AtWatermark())
    on_time = AtWatermark() if early is None else RepeatUntil(early, AtWatermark())
    return SequenceOf(on_time, Repeat(AtWatermark() if late is None else late))
