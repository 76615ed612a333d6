"""The user's own combiner as polars expressions: as fast as a built-in one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.combiners.protocol import Combiner

if TYPE_CHECKING:
    import polars as pl

    Columns = Mapping[str, pl.Expr]
    """Accumulator columns by name."""


class VectorisedCombiner(Combiner):
    """A combiner of one's own, written as expressions on columns.

    A frozen dataclass with the columns that it reads and three methods::

        @dataclass(frozen=True)
        class GeometricMean(VectorisedCombiner):
            column: str

            def lift(self):
                value = pl.col(self.column)
                return {"logs": value.log(), "count": value.is_not_null().cast(pl.Int64)}

            def fold(self, accumulators):
                return {name: column.sum() for name, column in accumulators.items()}

            def result(self, accumulators):
                return (accumulators["logs"] / accumulators["count"]).exp()

    Expressions see nulls as they are. ``pl.col("_event")`` is the event time in microseconds since the epoch.

    Guarantees: the engine runs these expressions inside its own queries. It calls no Python for a row or a group.

    Under retraction the engine keeps every combination of its input columns with its count, and recomputes.
    """

    __slots__ = ()

    @abstractmethod
    def lift(self) -> Columns:
        """The accumulator columns of each row: element-wise expressions on the input columns."""

    @abstractmethod
    def fold(self, accumulators: Columns) -> Columns:
        """Many accumulators to one: aggregating expressions, one for each column, in the same types.

        The result must not depend on the order or grouping of accumulators, and nulls must not change it.
        """

    @abstractmethod
    def result(self, accumulators: Columns) -> pl.Expr:
        """The output column: an element-wise expression."""

    def make(self) -> Columns:
        """Many rows to one accumulator. Override it where this can be computed without :meth:`lift`."""
        return self.fold(self.lift())

    def pair(self, left: Columns, right: Columns) -> Columns | None:  # noqa: ARG002
        """Two accumulators to one, element-wise. None: the engine folds them as a group."""
        return None

    # The scalar protocol: it keeps all rows, and evaluates the expressions over them when the result is read.

    def value_of(self, row: Mapping[str, Any], event_time: int = 0) -> tuple[Any, ...]:
        """The columns, nulls included, and the event time."""
        return (*(row.get(column) for column in self.columns), event_time)

    def create(self) -> tuple[Any, ...]:
        return ()

    def add(self, accumulator: tuple[Any, ...], value: Any) -> tuple[Any, ...]:  # noqa: ANN401
        return (*accumulator, value)

    def merge(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        return left + right

    def extract(self, accumulator: tuple[Any, ...]) -> Any:  # noqa: ANN401
        import polars as pl  # noqa: PLC0415 - an import of the model must not load polars

        if not accumulator:
            return None
        rows = pl.DataFrame(accumulator, schema=[*self.columns, "_event"], orient="row", infer_schema_length=None)
        # A column of nulls alone has no type of its own; most expressions are on numbers.
        rows = rows.with_columns(pl.col(pl.Null).cast(pl.Float64))
        made = {name: column.alias(name) for name, column in self.make().items()}
        return rows.select(**made).select(result=self.result({name: pl.col(name) for name in made}))["result"][0]
