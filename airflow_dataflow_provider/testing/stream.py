"""A scripted stream: the test adds elements and moves the clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.elements import Element, Pane
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import MAX_TIME, MIN_TIME, check_element_time, to_datetime
from airflow_dataflow_provider.model.watermarks import WatermarkCurve, percentile_text
from airflow_dataflow_provider.model.watermarks import percentile as checked_percentile
from airflow_dataflow_provider.progress.requests.requests import refuse_unheard
from airflow_dataflow_provider.progress.requests.signals import listened_to
from airflow_dataflow_provider.reference.interpreter import Epoch, Outcome
from airflow_dataflow_provider.testing.clock import check_forward
from airflow_dataflow_provider.testing.engines import engine_named
from airflow_dataflow_provider.testing.times import DEFAULT_DAY, Moment, moment, start_of

Row = tuple[Any, ...] | Mapping[str, Any]
"""``(key, value, event_time)``, the key a tuple if it has several columns; or every column that is read, by name.

Where the event time is ``INGRESS_TIME`` there is none to give: ``(key, value)``."""


@dataclass(frozen=True, slots=True)
class TestStream:
    """A script of elements and clocks for one pipeline.

    Each step gives a new stream::

        panes = (
            TestStream(pipeline)
            .advance_processing_time("12:05:19")
            .add(("k", 5, "12:00:26"))
            .advance_watermark("12:02")
            .end_of_input()
            .run()
        )

    Consecutive ``add`` steps are one epoch, at the present clocks. A step that moves a clock is an epoch without
    elements, evaluated before the next step. Processing time begins at midnight of ``day``, and every watermark at
    minus infinity.

    Args:
        pipeline: the pipeline under test.
        day: the UTC day of times that are written as times of day.
        script: the epochs so far.
        engine: the default engine of :meth:`run`.

    Raises:
        DefinitionError: ``DEFINITION_INCOMPLETE`` for a pipeline without a grouping; ``TIME_UNPARSABLE`` for a bad day.
    """

    __test__: ClassVar[bool] = False  # to pytest, the name looks like a class of tests

    pipeline: Pipeline
    day: str = field(default=DEFAULT_DAY, kw_only=True)
    script: tuple[Epoch, ...] = field(default=(), kw_only=True, repr=False)
    engine: str = field(default="reference", kw_only=True)

    def __post_init__(self) -> None:
        _ = self.clock, self.pipeline.grouping  # each refuses what cannot be used

    @property
    def clock(self) -> Clock:
        if self.script:
            return replace(self.script[-1].clock, signals=frozenset())  # a signal belongs to one epoch
        return Clock(start_of(self.day), WatermarkCurve.flat(MIN_TIME, self.pipeline.percentiles()))

    def advance_processing_time(self, to: Moment) -> TestStream:
        """Move processing time.

        Raises:
            DefinitionError: ``TIME_BACKWARDS``, or ``TIME_*`` for what is no time.
        """
        time = moment(to, day=self.day, what="processing time")
        check_forward("processing time", self.clock.processing_time, time)
        return self._then(Epoch(replace(self.clock, processing_time=time)))

    def advance_watermark(self, to: Moment, percentile: float = 100) -> TestStream:
        """Raise the watermark of a percentile, and those of lower ones that are behind it.

        Raises:
            DefinitionError: ``TIME_BACKWARDS``, ``DEFINITION_PERCENTILE``, or ``TIME_*`` for what is no time.
        """
        share = checked_percentile(percentile)
        time = moment(to, day=self.day, what="watermark")
        watermarks = self.clock.watermarks
        check_forward(f"the watermark of percentile {percentile_text(share)}", watermarks.at(share), time)
        risen = WatermarkCurve.flat(time) if share == 100 else WatermarkCurve(((share, time), (100.0, MIN_TIME)))
        return self._then(Epoch(replace(self.clock, watermarks=watermarks.raised_to(risen))))

    def raise_signal(self, *names: str) -> TestStream:
        """Raise signals from outside, for the windows that are open now.

        Raises:
            SubmissionError: ``SUBMIT_SIGNAL`` for a name that no trigger of the pipeline waits for.
        """
        for name in names:
            refuse_unheard(name, listened_to(self.pipeline))
        return self._then(Epoch(replace(self.clock, signals=frozenset(names)))) if names else self

    def end_of_input(self) -> TestStream:
        """End the input: every watermark is plus infinity, every window is complete and expires."""
        everything = WatermarkCurve.flat(MAX_TIME, self.clock.watermarks.percentiles)
        return self._then(Epoch(replace(self.clock, watermarks=everything)))

    def add(self, *rows: Row) -> TestStream:
        """Add elements, in this order, at the present processing time.

        Raises:
            DefinitionError: ``DEFINITION_TEST_ELEMENT`` for a row that lacks a column or is ambiguous, or that comes
                after the end of input; ``TIME_*`` for a bad event time.
        """
        if not rows:
            return self
        if self.clock.watermark == MAX_TIME:
            raise DefinitionError(
                "elements are added after the end of input",
                reason="all windows have expired, so they cannot be part of a pane",
                hint="add them before end_of_input()",
                code="DEFINITION_TEST_ELEMENT",
            )
        elements = tuple(self._element(row) for row in rows)
        if self.script and self.script[-1].elements:
            *before, open_epoch = self.script
            return replace(self, script=(*before, Epoch(open_epoch.clock, open_epoch.elements + elements)))
        return self._then(Epoch(self.clock, elements))

    def epochs(self) -> tuple[Epoch, ...]:
        """The script as epochs, for engines."""
        return self.script

    def run(self, engine: str | None = None) -> list[Pane]:
        """Run the script, and return every pane in the order of publication.

        Args:
            engine: ``reference``, ``spark-batch``, ``spark-micro-batch`` or ``spark-streaming``; by default the
                stream's.

        Raises:
            SubmissionError: ``ENGINE_UNKNOWN``.
        """
        return list(self.outcome(engine).panes)

    def outcome(self, engine: str | None = None) -> Outcome:
        """Run the script, and return the panes, the expired elements and the counts of elements.

        Raises:
            SubmissionError: ``ENGINE_UNKNOWN``.
        """
        return engine_named(engine or self.engine)(self.pipeline, self.epochs())

    def _then(self, epoch: Epoch) -> TestStream:
        return replace(self, script=(*self.script, epoch))

    def _element(self, given: Row) -> Element:
        source = self.pipeline.source
        row = dict(given) if isinstance(given, Mapping) else self._row_of(given)
        arrival_time = self.clock.processing_time
        if source.arrival_time is not None:
            row.setdefault(source.arrival_time, to_datetime(arrival_time))
            if row[source.arrival_time] != to_datetime(arrival_time):
                raise _bad_row(
                    given, "an element arrives at the stream's processing time", f"leave {source.arrival_time!r} out"
                )
        missing = [column for column in self.pipeline.input_columns() if column not in row]
        if missing:
            raise _bad_row(given, f"the pipeline reads {', '.join(missing)}", "give every column; None is a null")
        check_element_time(arrival_time, "the arrival time")
        if not isinstance(source.event_time, str):
            return Element(row, arrival_time, arrival_time)
        event_time = moment(row[source.event_time], day=self.day, what="event time")
        check_element_time(event_time, "the event time")
        return Element({**row, source.event_time: to_datetime(event_time)}, event_time, arrival_time)

    def _row_of(self, given: object) -> dict[str, Any]:
        """The row of a tuple: the columns that the first grouping and the steps before it read."""
        source, first = self.pipeline.source, self.pipeline.groupings[0]
        has_time = isinstance(source.event_time, str)
        form = "(key, value, event_time)" if has_time else "(key, value)"
        if not isinstance(given, tuple) or len(given) != (3 if has_time else 2):
            raise _bad_row(given, "", f"write {form}, or a mapping with every column")
        key, value, *event_time = given
        keys = key if isinstance(key, tuple) else (key,)
        reads = first.reads()
        if reads is None or not {*first.key} <= {*reads}:
            raise _bad_row(
                given, "which columns a ParDo before the grouping reads is its own", "give a mapping by column"
            )
        if len(keys) != len(first.key):
            raise _bad_row(given, f"the key is {first.key!r}", "give as many values, in this order")
        values = [column for column in reads if column not in {*first.key, *source.columns()}]
        if len(values) > 1 or (not values and value is not None):
            raise _bad_row(
                given,
                f"one value, but what is read beside the key is: {', '.join(values) or 'nothing'}",
                "give a mapping by column",
            )
        row = dict(zip(first.key, keys, strict=True)) | dict.fromkeys(values, value)
        if isinstance(source.event_time, str):
            row[source.event_time] = event_time[0]
        return row


def _bad_row(row: object, reason: str, hint: str) -> DefinitionError:
    return DefinitionError(f"{row!r} is not an element", reason=reason, hint=hint, code="DEFINITION_TEST_ELEMENT")
