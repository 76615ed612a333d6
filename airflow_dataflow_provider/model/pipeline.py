"""A pipeline: the four answers, as one frozen value that prints as the code that makes it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model import proofs
from airflow_dataflow_provider.model.combiners import Combiner
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.grouping import END_OF_WINDOW, Grouping, OutputTime
from airflow_dataflow_provider.model.par_do import AssignWindows, ParDo, code_of
from airflow_dataflow_provider.model.refinement import ACCUMULATING, Refinement
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.sinks import PaneLog, Sink
from airflow_dataflow_provider.model.sources import Source
from airflow_dataflow_provider.model.time import Duration, Micros, duration
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, Trigger
from airflow_dataflow_provider.model.watermarks import DEFAULT_PERCENTILES
from airflow_dataflow_provider.model.windows import GlobalWindows, WindowStrategy

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

RESERVED_COLUMNS = (
    "window_start", "window_end", "pane_timing", "pane_index", "pane_is_first", "pane_is_last", "pane_is_retraction",
    "watermark", "completeness", "processing_time", "epoch",
)  # fmt: skip
"""What the pane log adds to the key and the aggregates."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, repr=False)
class Pipeline:
    """What is computed, where in event time, when in processing time, and how refinements relate.

    Made step by step; each step is a new value::

        Pipeline("departures", Files("flights/*.parquet", event_time="scheduled", arrival_time="departed"))
        .group_by_key_and_window(key="origin", window=FixedWindows("1h"), trigger=Repeat(AtWatermark(97)))
        .combine(flights=Count(), mean_delay=Mean("delay"))
        .write(PaneLog("panes/departures"))
    """

    name: str
    source: Source
    groupings: tuple[Grouping, ...] = ()
    sinks: tuple[Sink, ...] = ()
    pending: tuple[ParDo, ...] = ()
    """What is done to each element before the next grouping; to each result of the last one before it is published."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise DefinitionError(
                f"pipeline name {self.name!r} cannot be used",
                reason="it names the state and the progress of the pipeline",
                hint="start with a letter; use letters, digits, '_', '-' and '.'",
                code="DEFINITION_NAME",
            )
        if not isinstance(self.source, Source):
            raise DefinitionError(
                f"pipeline {self.name!r} needs a source, got {self.source!r}",
                hint='write Pipeline("name", Files("folder/*.parquet", event_time="happened_at"))',
                code="DEFINITION_SOURCE",
            )

    def par_do(self, step: ParDo) -> Pipeline:
        """Do something to each element before it is grouped; after a grouping, to each of its results.

        After the last grouping, results pass the steps before they are published: as a condition on them (HAVING), or
        to compute columns of them. A result keeps its key and window. A retraction passes the same steps.

        Raises:
            DefinitionError: ``DEFINITION_PAR_DO``.
        """
        if not isinstance(step, ParDo) or self.sinks:
            raise DefinitionError(
                f"par_do({step!r}) comes after write()" if self.sinks else f"{step!r} is not a ParDo",
                hint=(
                    'write .par_do(SparkColumns(hours="delay / 60")), Vectorised(function) or PerElement(function, ...)'
                ),
                code="DEFINITION_PAR_DO",
            )
        return replace(self, pending=(*self.pending, step))

    def assign_windows(self, window: WindowStrategy) -> Pipeline:
        """Give elements their windows here; the next grouping takes them as they are.

        Raises:
            DefinitionError: ``DEFINITION_WINDOW``.
        """
        if any(isinstance(step, AssignWindows) for step in self.pending):
            raise DefinitionError("windows are assigned already", code="DEFINITION_WINDOW")
        return self.par_do(AssignWindows(window))

    def group_by_key_and_window(
        self,
        *,
        key: str | Sequence[str],
        window: WindowStrategy | None = None,
        trigger: Trigger = Repeat(AtWatermark()),  # noqa: B008 - a frozen value
        refinement: Refinement = ACCUMULATING,
        allowed_lateness: Duration = 0,
        output_time: OutputTime = END_OF_WINDOW,
        accept: Collection[Risk | str] = (),
    ) -> Grouped:
        """Group by key columns and windows; say with :meth:`Grouped.combine` what is computed of each group.

        After a first grouping this groups its results, whose columns are its key, its aggregates, ``window_start`` and
        ``window_end``.

        Args:
            key: the key columns.
            window: where in event time; leave it out where :meth:`assign_windows` came before.
            trigger: when in processing time.
            refinement: how panes of one window relate.
            allowed_lateness: how long after its end a window still takes elements.
            output_time: the event time of a result in the next grouping.
            accept: risks that are known and wanted (:class:`~airflow_dataflow_provider.model.risk.Risk`).

        Raises:
            DefinitionError: for anything that is not a key, window, trigger, refinement or lateness.
        """
        if self.sinks:
            raise DefinitionError(
                f"pipeline {self.name!r} groups after it writes",
                reason="a sink takes the panes of the last grouping",
                hint="call write(...) last",
                code="DEFINITION_GROUPINGS",
            )
        keys = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, Iterable) else ()
        if not keys or not all(isinstance(column, str) and column for column in keys) or len({*keys}) < len(keys):
            raise DefinitionError(
                f"key={key!r} is not a list of columns",
                hint='write key="user" or key=("user", "site")',
                code="DEFINITION_KEY",
            )
        assigned = next((step.window for step in self.pending if isinstance(step, AssignWindows)), None)
        if assigned is not None and window is not None:
            raise DefinitionError(
                f"window={window!r}, but assign_windows({assigned!r}) came before",
                hint="give the windows in one place",
                code="DEFINITION_WINDOW",
            )
        window = window or assigned
        for name, value, kind in (
            ("window", window, WindowStrategy), ("trigger", trigger, Trigger), ("refinement", refinement, Refinement),
            ("output_time", output_time, OutputTime),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise DefinitionError(
                    f"{name}={value!r} is not a {kind.__name__}",
                    hint="see the four questions in the README",
                    code=f"DEFINITION_{name.upper()}",
                )
        lateness = duration(allowed_lateness, what="allowed_lateness")
        if lateness < 0:
            raise DefinitionError(f"allowed_lateness={allowed_lateness!r} is negative", code="DEFINITION_LATENESS")
        return Grouped(
            self, keys, window, trigger, refinement, lateness, output_time, _risks(accept)  # type: ignore[arg-type]
        )  # fmt: skip

    def write(self, sink: Sink) -> Pipeline:
        """Send the panes of the last grouping to a sink.

        Raises:
            DefinitionError: ``DEFINITION_SINK``.
        """
        if not isinstance(sink, Sink):
            raise DefinitionError(f"{sink!r} is not a sink", hint="write for example PaneLog()", code="DEFINITION_SINK")
        if not self.groupings:
            raise DefinitionError(
                f"pipeline {self.name!r} writes before it groups",
                reason="a sink takes panes, and only a grouping makes panes",
                hint="call group_by_key_and_window(...).combine(...) first",
                code="DEFINITION_SINK",
            )
        if self.sinks:
            raise DefinitionError(f"pipeline {self.name!r} has a sink already", code="DEFINITION_SINK")
        steps = self.result_steps
        proofs.refuse(Risk.NEEDS_RETRACTION, proofs.needs_retraction(self.grouping, sink, steps), self.grouping)
        return replace(self, sinks=(*self.sinks, sink))

    @property
    def grouping(self) -> Grouping:
        """The last grouping: the one whose panes are published.

        Raises:
            DefinitionError: ``DEFINITION_INCOMPLETE`` where there is none yet, ``DEFINITION_WINDOW`` where windows are
                assigned after it.
        """
        if not self.groupings:
            raise DefinitionError(
                f"pipeline {self.name!r} computes nothing yet",
                hint="call group_by_key_and_window(...).combine(...)",
                code="DEFINITION_INCOMPLETE",
            )
        assigned = next((step for step in self.pending if isinstance(step, AssignWindows)), None)
        if assigned is not None:
            raise DefinitionError(
                f"pipeline {self.name!r} assigns windows after its last grouping: {assigned.window!r}",
                reason="nothing groups by these windows, so they would change nothing",
                hint="group after assign_windows(...), or leave it out",
                code="DEFINITION_WINDOW",
            )
        return self.groupings[-1]

    @property
    def result_steps(self) -> tuple[ParDo, ...]:
        """What is done to each result of the last grouping before it is published.

        Raises:
            DefinitionError: as :attr:`grouping`.
        """
        self.grouping  # noqa: B018 - it says what is missing
        return self.pending

    def par_dos(self) -> tuple[ParDo, ...]:
        """Every step, before and after the groupings."""
        return (*(step for grouping in self.groupings for step in grouping.par_dos), *self.pending)

    @property
    def pane_log(self) -> PaneLog:
        """The sink; by default a pane log under the state URL."""
        return next((sink for sink in self.sinks if isinstance(sink, PaneLog)), PaneLog())

    def percentiles(self) -> tuple[float, ...]:
        """The watermark percentiles that a job publishes: the default ones and those that triggers ask for."""
        asked = {p for grouping in self.groupings for p in grouping.trigger.percentiles()}
        return tuple(sorted({*map(float, DEFAULT_PERCENTILES), *asked}))

    def input_columns(self, available: Sequence[str] = ()) -> tuple[str, ...]:
        """Every column of the source that is read, each once: the times, then what the first grouping needs.

        Args:
            available: the source's columns, for a pipeline that reads all of them.
        """
        self.grouping  # noqa: B018 - it says what is missing
        reads = self.groupings[0].reads()
        return tuple(dict.fromkeys((*self.source.columns(), *(available if reads is None else reads))))

    def shape(self) -> dict[str, str]:
        """The parts of the definition that stand in the state, as code; a state follows no change of them."""
        self.grouping  # noqa: B018
        parts = {"source": repr(self.source.identity())}
        for number, grouping in enumerate(self.groupings, 1):
            parts |= {name if number == 1 else f"{name} {number}": code for name, code in grouping.shape().items()}
        if self.pending:
            parts["par_do of results"] = ", ".join(map(repr, self.pending))
        return {**parts, "sink": repr(self.pane_log.identity())}

    def fingerprint(self) -> str:
        """A short hash of name and shape: equal fingerprints, equal pipelines."""
        text = "\n".join([self.name, *(f"{part}={code}" for part, code in self.shape().items())])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        groupings = "".join(map(repr, self.groupings))
        sinks = "".join(f".write({sink!r})" for sink in self.sinks)
        return f"Pipeline({self.name!r}, {self.source!r}){groupings}{code_of(self.pending)}{sinks}"


@dataclass(frozen=True, slots=True)
class Grouped:
    """A pipeline whose last grouping does not say yet what is computed."""

    pipeline: Pipeline
    key: tuple[str, ...]
    window: WindowStrategy
    trigger: Trigger
    refinement: Refinement
    allowed_lateness: Micros
    output_time: OutputTime
    accept: frozenset[Risk]

    def combine(self, **combiners: Combiner) -> Pipeline:
        """Compute these aggregates of each key and window, by output name.

        Raises:
            DefinitionError: ``DEFINITION_COMBINER`` for none, or for a name that another output column has.
        """
        if not combiners:
            raise DefinitionError(
                "combine() computes nothing", hint="write combine(total=Sum('x'))", code="DEFINITION_COMBINER"
            )
        for name, combiner in combiners.items():
            if not isinstance(combiner, Combiner):
                raise DefinitionError(
                    f"combine({name}={combiner!r}) is not a combiner",
                    hint="write for example Sum('x')",
                    code="DEFINITION_COMBINER",
                )
        taken = {*self.key, *RESERVED_COLUMNS}
        clash = sorted(taken & combiners.keys()) or sorted({*RESERVED_COLUMNS} & {*self.key})
        hidden = sorted(name for name in (*combiners, *self.key) if name.startswith("_"))
        if clash or hidden:
            raise DefinitionError(
                f"the output column {(clash or hidden)[0]!r} cannot be used",
                reason="key columns, aggregates and the pane's own columns stand side by side in the output",
                hint=f"choose a name that does not start with '_' and is none of {', '.join(sorted(taken))}",
                code="DEFINITION_COMBINER",
            )
        before = self.pipeline
        grouping = Grouping(
            self.key, self.window, self.trigger, self.refinement, self.allowed_lateness, tuple(combiners.items()),
            before.pending, self.output_time, self.accept,
        )  # fmt: skip
        proofs.check(grouping)
        if before.groupings:
            _check_follows(before.groupings[-1], grouping)
            _check_output_time(before.groupings)
        return replace(before, groupings=(*before.groupings, grouping), pending=())


def _risks(accept: Collection[Risk | str]) -> frozenset[Risk]:
    try:
        return frozenset(Risk(risk) for risk in ((accept,) if isinstance(accept, str) else accept))
    except (ValueError, TypeError):
        raise DefinitionError(
            f"accept={accept!r} does not name risks",
            hint=f"choose from {', '.join(Risk)}",
            code="DEFINITION_RISK",
        ) from None


def _check_follows(first: Grouping, second: Grouping) -> None:
    """Refuse a second grouping that would be wrong about the first one's changes of mind.

    Raises:
        DefinitionError: ``DEFINITION_GROUPINGS``.
    """
    proofs.refuse(Risk.NEEDS_RETRACTION, proofs.counts_twice(first), first)
    proofs.refuse(Risk.NEEDS_RETRACTION, proofs.may_become_empty(second, first), second)
    if second.window.merges and not proofs.fires_once(first):
        raise DefinitionError(
            f"{second.window!r} cannot group results that may be taken back",
            reason="windows that have merged are not split again when the element between them is gone",
            hint="let the first grouping fire once (Repeat(AtWatermark()), no allowed lateness), or use fixed windows",
            code="DEFINITION_GROUPINGS",
        )
    if isinstance(first.window, GlobalWindows) and first.output_time is END_OF_WINDOW:
        raise DefinitionError(
            "a result of the global window has no event time for the next grouping",
            reason="its window has no end",
            hint="choose output_time=LATEST or EARLIEST in the first grouping",
            code="DEFINITION_GROUPINGS",
        )
    missing = second.reads()
    unknown = [] if missing is None else [name for name in missing if name not in first.output_columns]
    if unknown:
        raise DefinitionError(
            f"the second grouping reads {unknown[0]!r}, which the first one does not give",
            hint=f"it gives {', '.join(first.output_columns)}",
            code="DEFINITION_GROUPINGS",
        )


def _check_output_time(before: Sequence[Grouping]) -> None:
    """Refuse results in the middle whose event time is that of an element that may be taken back.

    Raises:
        DefinitionError: ``DEFINITION_GROUPINGS``.
    """
    if len(before) < 2 or before[-1].output_time is END_OF_WINDOW:
        return
    first, last = before[-2:]
    if proofs.retracts(first, is_last=False) and not proofs.fires_once(first):
        raise DefinitionError(
            f"output_time={last.output_time!r} cannot be that of elements that may be taken back",
            reason="a result would keep the event time of an element that is gone",
            hint="choose output_time=END_OF_WINDOW, or let the grouping before fire once",
            code="DEFINITION_GROUPINGS",
        )
