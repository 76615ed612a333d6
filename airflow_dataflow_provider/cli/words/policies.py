"""What the policies of a run would do with a plan, in words."""

from __future__ import annotations

from airflow_dataflow_provider.cli.words.plain import mark, series
from airflow_dataflow_provider.model.batch import processing_time_in
from airflow_dataflow_provider.model.modes import Boundedness
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.triggers import AtWatermark
from airflow_dataflow_provider.model.watermarks import percentile_text


def policies(pipeline: Pipeline) -> list[str]:
    """The options that belong to a run, not to the definition."""
    return [*_processing_time(pipeline), _percentile(pipeline), _shuffle()]


def _processing_time(pipeline: Pipeline) -> list[str]:
    looks = processing_time_in(pipeline)
    if not looks:
        return [
            (
                "Processing time: nothing here looks at it, so --processing-time-at-end-of-input and "
                "--no-allow-processing-time change nothing."
            )
        ]
    verb = "look" if len(looks) > 1 else "looks"
    refused = "With --no-allow-processing-time this plan is refused (SUBMIT_PROCESSING_TIME)."
    if not any(node.looks_at_processing_time for each in pipeline.groupings for node in each.trigger.walk()):
        return [f"Processing time: {series(looks)} {verb} at it, but no trigger does. {refused}"]
    return [
        (
            f"Processing time: {series(looks)} {verb} at it. In a batch it stands still for triggers; at the end of "
            "the input (and where a stream is drained) those that still wait fire, once "
            "(--processing-time-at-end-of-input fire, the default), or wait on for a later run (ignore), or the run "
            "fails before it publishes anything of the end (fail). A micro-batch run refuses the option, for its input "
            "does not end; over an interval only fire is possible."
        ),
        refused,
    ]


def _percentile(pipeline: Pipeline) -> str:
    if pipeline.source.boundedness is Boundedness.UNBOUNDED:
        return (
            "Batch percentile: --percentile is refused, for a batch over this source needs an interval, and keeps no "
            "state."
        )
    leaves = [node for node in pipeline.groupings[0].trigger.walk() if not node.children()]
    due = (
        "Batch percentile: with --percentile P a batch publishes once P % of the input's bytes are read, as if every "
        "watermark up to W_P had reached the end of the input; the rest is left out, named, and read by the next run."
    )
    asked = [leaf.percentile for leaf in leaves if isinstance(leaf, AtWatermark)]
    if len(asked) < len(leaves):
        return due
    least = min(asked)
    return f"{due} Below {percentile_text(least)} it is refused: no trigger looks at a watermark before {mark(least)}."


def _shuffle() -> str:
    return (
        "Shuffle: automatic and all-exchanges-blocking are the same on Spark; all-exchanges-pipelined is refused, for "
        "Spark has none."
    )
