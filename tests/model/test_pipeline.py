"""A pipeline knows what it reads, what it publishes, and what its state depends on."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_dataflow_provider import (
    ACCUMULATING,
    DISCARDING,
    AtWatermark,
    Count,
    DelayWatermark,
    Files,
    FixedWindows,
    Mean,
    PaneLog,
    Pipeline,
    Repeat,
    RuntimeMode,
    Sum,
)
from airflow_dataflow_provider.model.modes import Boundedness
from airflow_dataflow_provider.model.watermarks import DEFAULT_PERCENTILES

SOURCE = Files("flights/*.parquet", event_time="scheduled", arrival_time="departed")
GROUPED = Pipeline("departures", SOURCE).group_by_key_and_window(
    key=("origin", "carrier"), window=FixedWindows("1h"), trigger=Repeat(AtWatermark(97.5))
)
DEPARTURES = GROUPED.combine(flights=Count(), mean=Mean("delay"), total=Sum("delay"))


def test_it_reads_the_times_the_key_and_the_values_each_once() -> None:
    assert DEPARTURES.input_columns() == ("scheduled", "departed", "origin", "carrier", "delay")


def test_it_publishes_the_default_percentiles_and_those_that_triggers_ask_for() -> None:
    assert DEPARTURES.percentiles() == tuple(sorted([*DEFAULT_PERCENTILES, 97.5]))


def test_the_defaults_are_the_watermark_again_and_again_accumulating_without_lateness() -> None:
    plain = Pipeline("p", SOURCE).group_by_key_and_window(key="k", window=FixedWindows("1h")).combine(n=Count())
    grouping = plain.grouping
    assert (grouping.trigger, grouping.refinement, grouping.allowed_lateness) == (
        Repeat(AtWatermark()),
        ACCUMULATING,
        0,
    )
    assert plain.pane_log == PaneLog()


def test_each_step_leaves_the_pipeline_it_was_called_on_as_it_was() -> None:
    written = DEPARTURES.write(PaneLog("elsewhere"))
    assert DEPARTURES.sinks == ()
    assert written.pane_log == PaneLog("elsewhere")


@pytest.mark.parametrize(
    ("part", "changed"),
    [
        ("source", replace(DEPARTURES, source=Files("flights/*.csv", event_time="scheduled", arrival_time="departed"))),
        ("key", replace(GROUPED, key=("carrier", "origin")).combine(**DEPARTURES.grouping.combiners)),
        ("window", replace(GROUPED, window=FixedWindows("2h")).combine(**DEPARTURES.grouping.combiners)),
        ("trigger", replace(GROUPED, trigger=Repeat(AtWatermark())).combine(**DEPARTURES.grouping.combiners)),
        ("refinement", replace(GROUPED, refinement=DISCARDING).combine(**DEPARTURES.grouping.combiners)),
        ("allowed_lateness", replace(GROUPED, allowed_lateness=1).combine(**DEPARTURES.grouping.combiners)),
        ("combiners", GROUPED.combine(flights=Count(), mean=Mean("delay"), total=Sum("distance"))),
        ("sink", DEPARTURES.write(PaneLog("elsewhere"))),
    ],
)
def test_a_change_of_definition_changes_the_fingerprint_and_names_the_part(part: str, changed: Pipeline) -> None:
    before, after = DEPARTURES.shape(), changed.shape()
    assert [name for name in before if before[name] != after[name]] == [part]
    assert changed.fingerprint() != DEPARTURES.fingerprint()


def test_tuning_the_source_does_not_change_the_fingerprint() -> None:
    tuned = replace(SOURCE, watermark=DelayWatermark(plausible="1d"), max_files_per_epoch=7, max_rejected_share=0.1)
    assert replace(DEPARTURES, source=tuned).fingerprint() == DEPARTURES.fingerprint()


def test_pipelines_of_different_names_have_different_fingerprints() -> None:
    assert replace(DEPARTURES, name="arrivals").fingerprint() != DEPARTURES.fingerprint()


@pytest.mark.parametrize("text", ["micro-batch", "MICRO_BATCH", " Micro-Batch "])
def test_a_mode_is_read_as_users_write_it(text: str) -> None:
    assert RuntimeMode.parse(text) is RuntimeMode.MICRO_BATCH


@pytest.mark.parametrize(
    ("asked", "source", "has_interval", "runs"),
    [
        (RuntimeMode.AUTOMATIC, Boundedness.BOUNDED, False, RuntimeMode.BATCH),
        (RuntimeMode.AUTOMATIC, Boundedness.UNBOUNDED, False, RuntimeMode.STREAMING),
        (RuntimeMode.AUTOMATIC, Boundedness.UNBOUNDED, True, RuntimeMode.BATCH),
        (RuntimeMode.BATCH, Boundedness.BOUNDED, False, RuntimeMode.BATCH),
        (RuntimeMode.BATCH, Boundedness.UNBOUNDED, True, RuntimeMode.BATCH),
        (RuntimeMode.MICRO_BATCH, Boundedness.BOUNDED, False, RuntimeMode.MICRO_BATCH),
        (RuntimeMode.STREAMING, Boundedness.BOUNDED, False, RuntimeMode.STREAMING),
    ],
)
def test_the_mode_that_runs_follows_from_what_was_asked_and_from_the_source(
    asked: RuntimeMode, source: Boundedness, has_interval: bool, runs: RuntimeMode
) -> None:
    assert asked.resolve(source, has_interval=has_interval) is runs


def test_a_folder_is_bounded_unless_it_says_that_it_never_ends() -> None:
    assert SOURCE.boundedness is Boundedness.BOUNDED
    assert replace(SOURCE, continuous=True).boundedness is Boundedness.UNBOUNDED
