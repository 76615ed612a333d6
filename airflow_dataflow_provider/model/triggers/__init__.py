"""When in processing time: triggers (Dataflow Model, section 2.3)."""

from airflow_dataflow_provider.model.triggers.after_watermark import AfterWatermark
from airflow_dataflow_provider.model.triggers.clocks import AfterDelay, AtEpoch, AtPeriod, AtSignal, AtWatermark
from airflow_dataflow_provider.model.triggers.composites import AllOf, AnyOf, Repeat, RepeatUntil, SequenceOf
from airflow_dataflow_provider.model.triggers.elements import AtBytes, AtCount, AtPunctuation
from airflow_dataflow_provider.model.triggers.pattern import AtPattern, one_or_more, optional, zero_or_more
from airflow_dataflow_provider.model.triggers.trigger import Situation, Trigger, TriggerState

__all__ = [
    "AfterDelay",
    "AfterWatermark",
    "AllOf",
    "AnyOf",
    "AtBytes",
    "AtCount",
    "AtEpoch",
    "AtPattern",
    "AtPeriod",
    "AtPunctuation",
    "AtSignal",
    "AtWatermark",
    "Repeat",
    "RepeatUntil",
    "SequenceOf",
    "Situation",
    "Trigger",
    "TriggerState",
    "one_or_more",
    "optional",
    "zero_or_more",
]
