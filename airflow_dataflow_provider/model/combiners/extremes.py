"""The least, the greatest, and the k greatest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_dataflow_provider.model.combiners.protocol import (
    Columns,
    Combiner,
    check,
    check_column,
    check_columns,
    order,
    read,
    result,
)


class _Extreme(Combiner):
    __slots__ = ()

    column: str
    choose: ClassVar[Callable[..., Any]]

    def __post_init__(self) -> None:
        check_column(type(self).__name__, self.column)

    def create(self) -> None:
        """None: there is no value yet."""

    def add(self, accumulator: Any, value: Any) -> Any:  # noqa: ANN401
        return value if accumulator is None else self.choose(accumulator, value, key=order)

    def merge(self, left: Any, right: Any) -> Any:  # noqa: ANN401
        return left if right is None else self.add(left, right)

    def extract(self, accumulator: Any) -> Any:  # noqa: ANN401
        return accumulator

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.column!r})"


@dataclass(frozen=True, slots=True, repr=False)
class Min(_Extreme):
    """The least value of a column, None over no values. NaN is greater than any number.

    Under retraction it keeps every value with its count.
    """

    column: str
    choose = staticmethod(min)


@dataclass(frozen=True, slots=True, repr=False)
class Max(_Extreme):
    """The greatest value of a column, None over no values. NaN is greater than any number.

    Under retraction it keeps every value with its count.
    """

    column: str
    choose = staticmethod(max)


@dataclass(frozen=True, slots=True, repr=False)
class TopK(Combiner):
    """The ``k`` greatest values, greatest first; or the values of a column in the ``k`` rows with the greatest ``by``.

    Equal values count one by one. Rows with the same ``by`` are ordered by their values, greatest first, so the result
    does not depend on the order of arrival. NaN is greater than any number. A row where the column or ``by`` is null is
    skipped.

    ``TopK(("price", "url"), 3, by="score")`` gives whole rows, as mappings, with their nulls; only a row without a
    ``by`` is skipped. Rows of one rank are compared column by column, where a null is less than any value. With ``k=1``
    it is what SQL calls ``max_by``, in a list.

    Under retraction it keeps every value with its count: the next one takes the place of a value that is taken back.

    Args:
        column: the column of the result; or several, as rows.
        k: the greatest number of values, at least 1.
        by: the column that ranks; by default ``column`` itself.
    """

    column: Columns
    k: int
    by: str | None = None

    def __post_init__(self) -> None:
        check_columns("TopK", self.column)
        check_column("TopK(..., by=)", self.by, optional=True)
        check(
            isinstance(self.k, int) and not isinstance(self.k, bool) and self.k > 0,
            lambda: f"TopK({self.column!r}, {self.k!r}) needs a number of values",
            f"write TopK({self.column!r}, 3)",
        )

    @property
    def columns(self) -> tuple[str, ...]:
        columns = self.column if isinstance(self.column, tuple) else (self.column,)
        return columns if self.by is None else tuple(dict.fromkeys((*columns, self.by)))

    def value_of(self, row: Mapping[str, Any], event_time: int = 0) -> Any:  # noqa: ANN401, ARG002
        # A tuple of one or two, compared from the left: the rank comes first.
        value = read(self.column, row)
        ranked = (value,) if self.by is None else (read(self.by, row), value)
        return None if any(each is None for each in ranked) else ranked

    def create(self) -> tuple[Any, ...]:
        return ()

    def add(self, accumulator: tuple[Any, ...], value: Any) -> tuple[Any, ...]:  # noqa: ANN401
        return self.merge(accumulator, (value,))

    def merge(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(sorted(left + right, key=order, reverse=True)[: self.k])

    def extract(self, accumulator: tuple[Any, ...]) -> list[Any]:
        return [result(self.column, ranked[-1]) for ranked in accumulator]

    def __repr__(self) -> str:
        by = "" if self.by is None else f", by={self.by!r}"
        return f"TopK({self.column!r}, {self.k!r}{by})"
