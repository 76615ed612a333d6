"""Proofs about a plan before it runs: whether it may lose data, may never fire, or needs retractions.

Each proof returns None, or the reason of a risk. A plan with a risk is refused, unless the user accepts the
:class:`~airflow_dataflow_provider.model.risk.Risk` by name in the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.refinement import ACCUMULATING, ACCUMULATING_AND_RETRACTING, DISCARDING
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, RepeatUntil, SequenceOf, Trigger
from airflow_dataflow_provider.model.windows import GlobalWindows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow_dataflow_provider.model.grouping import Grouping
    from airflow_dataflow_provider.model.par_do import ParDo
    from airflow_dataflow_provider.model.sinks import Sink


def may_lose_data(grouping: Grouping) -> str | None:
    """Why a window could take elements after its last firing, or None.

    A window without allowed lateness takes no elements after the ordinary watermark. The global window stays open after
    the end of a batch's input, and the next run may bring more elements.
    """
    reason = grouping.trigger.may_lose_data()
    if reason is None or isinstance(grouping.window, GlobalWindows):
        return reason
    return None if grouping.allowed_lateness == 0 and _ends_at_watermark(grouping.trigger) else reason


def _ends_at_watermark(trigger: Trigger) -> bool:
    """Whether the last firing is at the ordinary watermark, so that only late elements come after it."""
    match trigger:
        case AtWatermark(percentile=100):
            return True
        case RepeatUntil(until=last) | SequenceOf(triggers=(*_, last)):
            return _ends_at_watermark(last)
    return False


def may_never_fire(grouping: Grouping) -> str | None:
    """Why a window with elements could stay without a pane for ever, or None.

    A window that ends is published when it expires at the latest. A global window that waits for the end of input is
    refused only in runs without one (see :func:`never_fires_in_a_stream`).
    """
    stuck = _without_a_turn(grouping.trigger)
    if stuck is not None:
        return f"{stuck!r} never starts: the trigger before it in the sequence never finishes"
    if not isinstance(grouping.window, GlobalWindows) or _waits_for_the_end(grouping.trigger):
        return None
    return grouping.trigger.may_never_fire()


def never_fires_in_a_stream(grouping: Grouping) -> str | None:
    """Why a run whose input does not end would never publish, or None."""
    if isinstance(grouping.window, GlobalWindows) and _waits_for_the_end(grouping.trigger):
        return grouping.trigger.may_never_fire()
    return None


def _waits_for_the_end(trigger: Trigger) -> bool:
    leaves = [node for node in trigger.walk() if not node.children()]
    return trigger.may_never_fire() is not None and all(isinstance(leaf, AtWatermark) for leaf in leaves)


def _without_a_turn(trigger: Trigger) -> Trigger | None:
    for node in trigger.walk():
        if isinstance(node, SequenceOf):
            for before, after in zip(node.triggers, node.triggers[1:], strict=False):
                if _never_finishes(before):
                    return after
    return None


def _never_finishes(trigger: Trigger) -> bool:
    return isinstance(trigger, Repeat) or (isinstance(trigger, SequenceOf) and _never_finishes(trigger.triggers[-1]))


def fires_once(grouping: Grouping) -> bool:
    """Whether a window has at most one pane: at its trigger's only firing, or when it expires."""
    if grouping.allowed_lateness:
        return False
    trigger = grouping.trigger.trigger if isinstance(grouping.trigger, Repeat) else grouping.trigger
    return trigger == AtWatermark()


def retracts(grouping: Grouping, *, is_last: bool) -> bool:
    """Whether the panes of a grouping retract those that they replace.

    An accumulating grouping before the last one does, since the next grouping adds elements up.
    """
    refinement = grouping.refinement
    return refinement is ACCUMULATING_AND_RETRACTING or (refinement is ACCUMULATING and not is_last)


def replaces(grouping: Grouping) -> bool:
    """Whether a later pane of a window replaces an earlier one without a retraction.

    If a step after the grouping drops the later pane, the earlier one must be retracted.
    """
    return grouping.refinement is ACCUMULATING and not fires_once(grouping)


def needs_retraction(grouping: Grouping, sink: Sink | None = None, steps: Sequence[ParDo] = ()) -> str | None:
    """Why readers need retractions and do not get them, or None.

    Args:
        grouping: the last grouping.
        sink: its sink; None: check the grouping alone.
        steps: the steps on its results.
    """
    retracts = grouping.refinement is ACCUMULATING_AND_RETRACTING
    if grouping.window.merges and not retracts and not fires_once(grouping):
        return (
            "windows may merge after they were published, and only a retraction removes the results of the windows "
            "that were merged"
        )
    if sink is not None and (retracts or (steps and replaces(grouping))) and not sink.takes_retractions:
        return f"{sink!r} does not understand retractions"
    return None


def counts_twice(grouping: Grouping) -> str | None:
    """Why the grouping after this one would count one result several times, or None."""
    if grouping.refinement is not DISCARDING or fires_once(grouping):
        return None
    return "a window of the first grouping can have several panes, and the next one would count each of them"


def may_become_empty(grouping: Grouping, before: Grouping) -> str | None:
    """Why a grouping must retract results that have lost all their elements, or None."""
    if fires_once(before) or before.refinement is DISCARDING or grouping.refinement is ACCUMULATING_AND_RETRACTING:
        return None
    return "results before it are taken back, so a window can become empty, and only a retraction can remove its result"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of the proofs of one risk for one grouping.

    Attributes:
        grouping: its position, from 0.
        risk: the risk.
        reason: why the plan has the risk; None: it is proven not to have it.
        accepted: whether the user accepts the risk.
    """

    grouping: int
    risk: Risk
    reason: str | None
    accepted: bool


def findings(groupings: Sequence[Grouping], sink: Sink, steps: Sequence[ParDo]) -> Iterator[Finding]:
    """The results of every proof about every grouping of a plan, with its sink and the steps before the sink."""
    for number, grouping in enumerate(groupings):
        reasons = {Risk.MAY_LOSE_DATA: may_lose_data(grouping), Risk.MAY_NEVER_FIRE: may_never_fire(grouping)}
        if number + 1 == len(groupings):
            retraction = needs_retraction(grouping, sink, steps)
        else:
            retraction = needs_retraction(grouping) or counts_twice(grouping)
        if number:
            retraction = retraction or may_become_empty(grouping, groupings[number - 1])
        for risk, reason in {**reasons, Risk.NEEDS_RETRACTION: retraction}.items():
            yield Finding(number, risk, reason, accepted=risk in grouping.accept)


_HINTS = {
    Risk.MAY_LOSE_DATA: "repeat it: Repeat({trigger}), or SequenceOf({trigger}, Repeat(AtWatermark()))",
    Risk.MAY_NEVER_FIRE: "add a trigger that always fires: Repeat(AnyOf({trigger}, AtPeriod('1h'))), use windows that "
    "end, or make the trigger before it in the sequence finish: RepeatUntil(..., AtWatermark())",
    Risk.NEEDS_RETRACTION: "use refinement=ACCUMULATING_AND_RETRACTING and a sink that takes retractions, or let each "
    "window fire once: Repeat(AtWatermark()) and no allowed lateness",
}


def refuse(risk: Risk, reason: str | None, grouping: Grouping) -> None:
    """Refuse a plan for a reason, unless the risk is accepted.

    Raises:
        DefinitionError: ``DEFINITION_MAY_LOSE_DATA``, ``DEFINITION_MAY_NEVER_FIRE``, ``DEFINITION_NEEDS_RETRACTION``.
    """
    if reason is None or risk in grouping.accept:
        return
    raise DefinitionError(
        f"this plan {risk.value.replace('-', ' ')}: {reason}",
        reason="its results could be wrong or missing without an error",
        hint=f"{_HINTS[risk].format(trigger=grouping.trigger)}; or accept it by name: accept=({risk!r},)",
        code=f"DEFINITION_{risk.name}",
    )


def check(grouping: Grouping) -> None:
    """Refuse a grouping that has a risk by itself.

    Raises:
        DefinitionError: see :func:`refuse`.
    """
    refuse(Risk.MAY_LOSE_DATA, may_lose_data(grouping), grouping)
    refuse(Risk.MAY_NEVER_FIRE, may_never_fire(grouping), grouping)
    refuse(Risk.NEEDS_RETRACTION, needs_retraction(grouping), grouping)
