"""The kernel of a grouping: columns of open windows, accumulators, the trigger, and how windows get elements.

It knows the grouping and the types of its columns, and holds no data. An epoch's data pass through
:func:`~airflow_dataflow_provider.spark.kernel.advance.advance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from airflow_dataflow_provider.model.clock import Clock
from airflow_dataflow_provider.model.grouping import END_OF_WINDOW
from airflow_dataflow_provider.model.proofs import replaces, retracts
from airflow_dataflow_provider.model.refinement import DISCARDING
from airflow_dataflow_provider.model.time import MAX_TIME
from airflow_dataflow_provider.model.watermarks import NOTHING_KNOWN
from airflow_dataflow_provider.model.windows import (
    FixedWindows,
    GlobalWindows,
    SlidingWindows,
    WindowStrategy,
)
from airflow_dataflow_provider.spark.aggregates import Aggregates
from airflow_dataflow_provider.spark.kernel.bookkeeping import Bookkeeping
from airflow_dataflow_provider.spark.kernel.columns import (
    ELEMENTS,
    END,
    FINISHED,
    FIRST_ARRIVAL,
    FRESH,
    ID,
    INDEX,
    LAST_PUBLISHED,
    PASSED,
    START,
)  # fmt: skip
from airflow_dataflow_provider.spark.kernel.last_published import LastPublishedPane, LastPublishedPanes
from airflow_dataflow_provider.spark.kernel.panes import Panes
from airflow_dataflow_provider.spark.kernel.triggers import compile_trigger
from airflow_dataflow_provider.spark.kernel.triggers.node import NOT_FRESH, Mask, Percentiles, States, Windows
from airflow_dataflow_provider.spark.kernel.triggers.user_defined import UserTriggerNode

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.grouping import Grouping

_NO_CLOCK = Clock(0, NOTHING_KNOWN)


class Kernel:
    """The column-wise form of one grouping over input columns of known types.

    Args:
        grouping: what, where, when and how.
        schema: the types of the input columns that the grouping reads.
        input_retracts: whether elements can be taken back, as the results of an earlier grouping can.
        is_last: whether the pipeline publishes its panes.
        has_steps_after: whether its panes pass steps before they are published.

    Raises:
        SubmissionError: where the engine does not know a combiner, or a column's type does not fit.
    """

    def __init__(
        self,
        grouping: Grouping,
        schema: Mapping[str, pl.DataType],
        *,
        input_retracts: bool = False,
        is_last: bool = True,
        has_steps_after: bool = False,
    ) -> None:
        window, trigger = grouping.window, grouping.trigger
        self.grouping, self.input_retracts, self.is_last = grouping, input_retracts, is_last
        self.schema = {name: schema[name] for name in grouping.input_columns()}
        self.aggregates = Aggregates.of(grouping, schema, retracting=input_retracts)
        self.percentiles = Percentiles(trigger)
        self.trigger = compile_trigger(trigger, self.percentiles, "_trigger")
        self.key_types = {column: schema[column] for column in grouping.key}
        self.merges = window.merges
        self.has_user_trigger = any(isinstance(node, UserTriggerNode) for node in self.trigger.walk())
        self.book = Bookkeeping(grouping, has_user_trigger=self.has_user_trigger, input_retracts=input_retracts)
        fields = {field.name: (field.how, field.dtype) for field in self.aggregates.fields}
        self.folds = _foldable({**fields, **self.book.folds})
        self.retracts = retracts(grouping, is_last=is_last)
        # A step may drop a pane that would have replaced the one before; that one has to be retracted then.
        self.keeps_last_published = self.retracts or (is_last and has_steps_after and replaces(grouping))
        self.discards = grouping.refinement is DISCARDING
        # Where the start gives the end, grouping and joining by the start alone is cheaper.
        self.end = _end(window)
        self.by = [*grouping.key, START] if self.end is not None else [*grouping.key, START, END]
        self.identity = [ID] if self.merges else self.by
        values = self.aggregates.output_schema
        self.last_published = (LastPublishedPanes if self.merges else LastPublishedPane)(values, timed=not is_last)
        self.panes = Panes(
            grouping, self.aggregates, self.percentiles,
            hidden=self.discards and is_last, timestamped=not is_last or grouping.output_time is not END_OF_WINDOW,
        )  # fmt: skip

    # What the frames look like

    @property
    def field_names(self) -> list[str]:
        """Accumulators, and the columns that are combined like them."""
        return [*self.aggregates.names, *self.book.names]

    @property
    def field_types(self) -> dict[str, pl.DataType]:
        return {**{field.name: field.dtype for field in self.aggregates.fields}, **self.book.types}

    @property
    def partial_schema(self) -> dict[str, pl.DataType]:
        """The columns of partial accumulators: key, window, accumulators."""
        return {**self.key_types, START: pl.Int64(), END: pl.Int64(), **self.field_types}

    @cached_property
    def state_schema(self) -> dict[str, pl.DataType]:
        """The columns of an open window: the partial's, then the pane's bookkeeping and the trigger's state."""
        own: dict[str, pl.DataType] = {INDEX: pl.Int32(), PASSED: pl.UInt32(), FINISHED: pl.Boolean()}
        if not self.book.timed:
            own[FRESH] = pl.Boolean()
        if self.merges:
            own[ID] = pl.Int64()
        own |= self.trigger.columns()
        if self.keeps_last_published:
            own |= self.last_published.columns()
        return {**self.partial_schema, **own}

    def empty_state(self) -> pl.DataFrame:
        return pl.DataFrame(schema=self.state_schema)

    def make(self) -> list[pl.Expr]:
        """Elements to partial accumulators, inside a group."""
        return [*self.aggregates.make(), *self.book.make()]

    def lift(self) -> list[pl.Expr]:
        """Elements to partial accumulators, one each."""
        return [*self.aggregates.lift(), *self.book.lift()]

    def merge(self) -> list[pl.Expr]:
        """Partial accumulators to fewer, inside a group."""
        return [*self.aggregates.merge(), *self.book.merge()]

    def pair(self, suffix: str) -> list[pl.Expr]:
        """Two partial accumulators side by side to one."""
        return [*self.aggregates.pair(suffix), *self.book.pair(suffix)]

    def opened(self, partials: pl.DataFrame, *, fresh: bool = True) -> pl.DataFrame:
        """State rows for windows that have just opened."""
        defaults = [
            pl.lit(self._initial(name, dtype, fresh=fresh), dtype=dtype).alias(name)
            for name, dtype in self.state_schema.items()
            if name not in self.partial_schema
        ]
        return partials.select(*self.partial_schema).with_columns(defaults).select(*self.state_schema)

    def nothing(self) -> list[pl.Expr]:
        return [*self.aggregates.zeros(), *self.book.zeros()]

    @staticmethod
    def _initial(name: str, dtype: pl.DataType, *, fresh: bool) -> object:
        if name == FRESH:
            return fresh
        if dtype == pl.Boolean:
            return False
        return 0 if dtype.is_numeric() and not name.startswith(LAST_PUBLISHED) else None

    # What the triggers see

    def windows(self, rows: pl.DataFrame, clock: Clock, *, at_boundary: bool = True) -> Windows:
        """What triggers see of some open windows."""
        if self.book.timed:
            first = rows[FIRST_ARRIVAL].to_numpy().copy()
        else:
            first = np.where(rows[FRESH].to_numpy(), 0, NOT_FRESH)
        return Windows(
            clock, rows[START].to_numpy(), rows[END].to_numpy(), first, rows[PASSED].to_numpy().copy(), at_boundary
        )  # fmt: skip

    def states(self, rows: pl.DataFrame) -> States:
        """Copies of the trigger's state columns, to be changed in place."""
        return {
            name: np.array(rows[name].to_list(), dtype=object) if dtype == pl.Binary else rows[name].to_numpy().copy()
            for name, dtype in self.trigger.columns().items()
        }

    def with_states(self, rows: pl.DataFrame, states: States) -> pl.DataFrame:
        columns = self.trigger.columns()
        return rows.with_columns(pl.Series(name, states[name], dtype=dtype) for name, dtype in columns.items())

    def not_fresh(self, where: pl.Expr) -> pl.Expr:
        """The column of freshness, with these windows not fresh."""
        if self.book.timed:
            return (
                pl.when(where)
                .then(pl.lit(NOT_FRESH, dtype=pl.Int64))
                .otherwise(pl.col(FIRST_ARRIVAL))
                .alias(FIRST_ARRIVAL)
            )
        return (pl.col(FRESH) & ~where).alias(FRESH)

    def empty(self, rows: pl.DataFrame) -> Mask:
        """Where all elements were retracted, so that nothing is left to publish."""
        nothing: Mask = np.zeros(len(rows), dtype=np.bool_)
        return (rows[ELEMENTS] == 0).to_numpy() if self.input_retracts and self.retracts else nothing

    @cached_property
    def no_panes(self) -> pl.DataFrame:
        """No panes, in the pane log's columns."""
        nothing = self.empty_state()
        return self.panes.inserts(nothing, self.aggregates.extract(nothing), np.zeros(0, dtype=np.bool_), _NO_CLOCK)


def _foldable(fields: Mapping[str, tuple[str | None, pl.DataType]]) -> dict[str, str] | None:
    """The operation of each accumulator, if all are single numbers with one.

    Args:
        fields: for each accumulator column ``sum``, ``min``, ``max`` or None, and its type.
    """
    folds: dict[str, str] = {}
    for name, (how, dtype) in fields.items():
        if how is None or not (dtype == pl.Int64 or (dtype == pl.Float64 and how == "sum")):
            return None
        folds[name] = how
    return folds


def _end(window: WindowStrategy) -> pl.Expr | None:
    """The end of a window, if its start tells it."""
    match window:
        case FixedWindows(size=size) | SlidingWindows(size=size):
            return pl.col(START) + size
        case GlobalWindows():
            return pl.lit(MAX_TIME, dtype=pl.Int64)
        case _:
            return None


@lru_cache(maxsize=16)
def _kernel(
    grouping: Grouping, schema: tuple[tuple[str, pl.DataType], ...], input_retracts: bool, is_last: bool, steps: bool
) -> Kernel:
    return Kernel(grouping, dict(schema), input_retracts=input_retracts, is_last=is_last, has_steps_after=steps)


def kernel_for(
    grouping: Grouping,
    schema: Mapping[str, pl.DataType],
    *,
    input_retracts: bool = False,
    is_last: bool = True,
    has_steps_after: bool = False,
) -> Kernel:
    """The kernel of a grouping; a worker process makes it once, not once a partition and epoch."""
    return _kernel(grouping, tuple(schema.items()), input_retracts, is_last, has_steps_after)
