"""Triggers in words."""

from __future__ import annotations

from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, SequenceOf, Trigger
from airflow_dataflow_provider.model.watermarks import percentile_text


def trigger_words(trigger: Trigger) -> str:
    """When a trigger fires, as a clause."""
    return f"once, {_clause(trigger)}" if isinstance(trigger, AtWatermark) else _clause(trigger)


def mark(percentile: float) -> str:
    """A watermark's name, ``W_97``."""
    return f"W_{percentile_text(percentile)}"


def _clause(trigger: Trigger) -> str:
    match trigger:
        case AtWatermark(percentile=percentile):
            return f"when {mark(percentile)} reaches the end of the window"
        case Repeat(trigger=AtWatermark() as once):
            return f"{_clause(once)}, and from then on in every epoch that brings the window something new"
        case Repeat(trigger=Repeat() as inner):
            return _clause(inner)
        case Repeat(trigger=inner):
            return f"again and again: {_clause(inner)}"
        case SequenceOf(triggers=(first, *rest)):
            return "; then ".join([f"first {_clause(first)}", *map(_clause, rest)])
        case _:
            return f"when {trigger!r} says so"
