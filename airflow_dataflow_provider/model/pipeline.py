"""A pipeline: the four answers, as one frozen value that prints as the code that makes it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.combiners import Combiner
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.refinement import ACCUMULATING, Refinement
from airflow_dataflow_provider.model.sinks import PaneLog, Sink
from airflow_dataflow_provider.model.sources import Source
from airflow_dataflow_provider.model.time import Duration, Micros, duration, duration_text
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, Trigger
from airflow_dataflow_provider.model.watermarks import DEFAULT_PERCENTILES
from airflow_dataflow_provider.model.windows import WindowStrategy

if TYPE_CHECKING:
    from collections.abc import Sequence

RESERVED_COLUMNS = (
    "window_start", "window_end", "pane_timing", "pane_index", "pane_is_first", "pane_is_last", "pane_is_retraction",
    "watermark", "completeness", "processing_time", "epoch",
)  # fmt: skip
"""What the pane log adds to the key and the aggregates."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True, repr=False)
class Grouping:
    """One ``GroupByKeyAndWindow`` with its combiners: what, where, when and how.

    Attributes:
        key: the key columns.
        window: where in event time.
        trigger: when in processing time.
        refinement: how panes of one window relate.
        allowed_lateness: how long after its end, by ``W_100``, a window still takes elements; microseconds.
        aggregates: output names with their combiners.
    """

    key: tuple[str, ...]
    window: WindowStrategy
    trigger: Trigger
    refinement: Refinement
    allowed_lateness: Micros
    aggregates: tuple[tuple[str, Combiner], ...]

    @property
    def combiners(self) -> dict[str, Combiner]:
        """The aggregates by output name."""
        return dict(self.aggregates)

    def input_columns(self) -> tuple[str, ...]:
        """The columns of the input that the grouping reads, each once."""
        values = (combiner.column for combiner in self.combiners.values() if combiner.column is not None)
        return tuple(dict.fromkeys((*self.key, *values)))

    def __repr__(self) -> str:
        key = repr(self.key[0]) if len(self.key) == 1 else repr(self.key)
        aggregates = ", ".join(f"{name}={combiner!r}" for name, combiner in self.combiners.items())
        return (
            f".group_by_key_and_window(key={key}, window={self.window!r}, trigger={self.trigger!r}, "
            f"refinement={self.refinement!r}, allowed_lateness={duration_text(self.allowed_lateness)!r})"
            f".combine({aggregates})"
        )


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

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise DefinitionError(
                f"pipeline name {self.name!r} cannot be used",
                why="it names the state and the progress of the pipeline",
                todo="start with a letter; use letters, digits, '_', '-' and '.'",
                code="DEFINITION_NAME",
            )
        if not isinstance(self.source, Source):
            raise DefinitionError(
                f"pipeline {self.name!r} needs a source, got {self.source!r}",
                todo='write Pipeline("name", Files("folder/*.parquet", event_time="happened_at"))',
                code="DEFINITION_SOURCE",
            )

    def group_by_key_and_window(
        self,
        *,
        key: str | Sequence[str],
        window: WindowStrategy,
        trigger: Trigger = Repeat(AtWatermark()),  # noqa: B008 - a frozen value
        refinement: Refinement = ACCUMULATING,
        allowed_lateness: Duration = 0,
    ) -> Grouped:
        """Group by key columns and windows; say with :meth:`Grouped.combine` what is computed of each group.

        Raises:
            DefinitionError: for anything that is not a key, window, trigger, refinement or lateness.
        """
        keys = (key,) if isinstance(key, str) else tuple(key)
        if not keys or not all(isinstance(column, str) and column for column in keys) or len({*keys}) < len(keys):
            raise DefinitionError(
                f"key={key!r} is not a list of columns",
                todo='write key="user" or key=("user", "site")',
                code="DEFINITION_KEY",
            )
        for name, value, kind in (
            ("window", window, WindowStrategy), ("trigger", trigger, Trigger), ("refinement", refinement, Refinement),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise DefinitionError(
                    f"{name}={value!r} is not a {kind.__name__}",
                    todo="see the four questions in the README",
                    code=f"DEFINITION_{name.upper()}",
                )
        lateness = duration(allowed_lateness, what="allowed_lateness")
        if lateness < 0:
            raise DefinitionError(f"allowed_lateness={allowed_lateness!r} is negative", code="DEFINITION_LATENESS")
        if self.groupings:
            raise DefinitionError(
                f"pipeline {self.name!r} has a grouping already",
                why="several groupings in a row are not supported yet",
                todo="write the first one's panes to a sink and read them with a second pipeline",
                code="DEFINITION_GROUPINGS",
            )
        return Grouped(self, keys, window, trigger, refinement, lateness)

    def write(self, sink: Sink) -> Pipeline:
        """Send the panes of the last grouping to a sink.

        Raises:
            DefinitionError: ``DEFINITION_SINK``.
        """
        if not isinstance(sink, Sink):
            raise DefinitionError(f"{sink!r} is not a sink", todo="write for example PaneLog()", code="DEFINITION_SINK")
        if not self.groupings:
            raise DefinitionError(
                f"pipeline {self.name!r} writes before it groups",
                why="a sink takes panes, and only a grouping makes panes",
                todo="call group_by_key_and_window(...).combine(...) first",
                code="DEFINITION_SINK",
            )
        if self.sinks:
            raise DefinitionError(f"pipeline {self.name!r} has a sink already", code="DEFINITION_SINK")
        return replace(self, sinks=(*self.sinks, sink))

    @property
    def grouping(self) -> Grouping:
        """The grouping.

        Raises:
            DefinitionError: ``DEFINITION_INCOMPLETE`` where there is none yet.
        """
        if not self.groupings:
            raise DefinitionError(
                f"pipeline {self.name!r} computes nothing yet",
                todo="call group_by_key_and_window(...).combine(...)",
                code="DEFINITION_INCOMPLETE",
            )
        return self.groupings[-1]

    @property
    def pane_log(self) -> PaneLog:
        """The sink; by default a pane log under the state URL."""
        return next((sink for sink in self.sinks if isinstance(sink, PaneLog)), PaneLog())

    def percentiles(self) -> tuple[float, ...]:
        """The watermark percentiles that a job publishes: the default ones and those that triggers ask for."""
        asked = {p for grouping in self.groupings for p in grouping.trigger.percentiles()}
        return tuple(sorted({*map(float, DEFAULT_PERCENTILES), *asked}))

    def input_columns(self) -> tuple[str, ...]:
        """Every input column that is read, each once: the times, the key, the values."""
        return tuple(dict.fromkeys((*self.source.columns(), *self.grouping.input_columns())))

    def shape(self) -> dict[str, str]:
        """The parts of the definition that stand in the state, as code; a state follows no change of them."""
        grouping = self.grouping
        return {
            "source": repr(self.source.identity()),
            "key": repr(grouping.key),
            "window": repr(grouping.window),
            "trigger": repr(grouping.trigger),
            "refinement": repr(grouping.refinement),
            "allowed_lateness": duration_text(grouping.allowed_lateness),
            "combiners": ", ".join(f"{name}={combiner!r}" for name, combiner in grouping.combiners.items()),
            "sink": repr(self.pane_log),
        }

    def fingerprint(self) -> str:
        """A short hash of name and shape: equal fingerprints, equal pipelines."""
        text = "\n".join([self.name, *(f"{part}={code}" for part, code in self.shape().items())])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        steps = "".join(map(repr, self.groupings)) + "".join(f".write({sink!r})" for sink in self.sinks)
        return f"Pipeline({self.name!r}, {self.source!r}){steps}"


@dataclass(frozen=True, slots=True)
class Grouped:
    """A pipeline whose last grouping does not say yet what is computed."""

    pipeline: Pipeline
    key: tuple[str, ...]
    window: WindowStrategy
    trigger: Trigger
    refinement: Refinement
    allowed_lateness: Micros

    def combine(self, **combiners: Combiner) -> Pipeline:
        """Compute these aggregates of each key and window, by output name.

        Raises:
            DefinitionError: ``DEFINITION_COMBINER`` for none, or for a name that another output column has.
        """
        if not combiners:
            raise DefinitionError(
                "combine() computes nothing", todo="write combine(total=Sum('x'))", code="DEFINITION_COMBINER"
            )
        for name, combiner in combiners.items():
            if not isinstance(combiner, Combiner):
                raise DefinitionError(
                    f"combine({name}={combiner!r}) is not a combiner",
                    todo="write for example Sum('x')",
                    code="DEFINITION_COMBINER",
                )
        taken = {*self.key, *RESERVED_COLUMNS}
        clash = sorted(taken & combiners.keys()) or sorted({*RESERVED_COLUMNS} & {*self.key})
        hidden = sorted(name for name in (*combiners, *self.key) if name.startswith("_"))
        if clash or hidden:
            raise DefinitionError(
                f"the output column {(clash or hidden)[0]!r} cannot be used",
                why="key columns, aggregates and the pane's own columns stand side by side in the output",
                todo=f"choose a name that does not start with '_' and is none of {', '.join(sorted(taken))}",
                code="DEFINITION_COMBINER",
            )
        grouping = Grouping(
            self.key, self.window, self.trigger, self.refinement, self.allowed_lateness, tuple(combiners.items())
        )
        return replace(self.pipeline, groupings=(*self.pipeline.groupings, grouping))
