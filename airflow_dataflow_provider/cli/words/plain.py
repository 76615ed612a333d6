"""Small parts of speech: series, numbers, watermarks, code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from airflow_dataflow_provider.model.watermarks import percentile_text


def series(parts: Iterable[str], last: str = "and") -> str:
    """``a, b and c``; of nothing ``nothing``."""
    words = list(parts)
    if not words:
        return "nothing"
    *most, end = words
    return f"{', '.join(most)} {last} {end}" if most else end


def ordinal(number: int) -> str:
    """``1st``, ``2nd``, ``11th``."""
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number:,}{ending}"


def mark(percentile: float) -> str:
    """A watermark's name, ``W_97``."""
    return f"W_{percentile_text(percentile)}"


def number_text(number: float) -> str:
    """``0.5``, ``3``."""
    return f"{number:g}"


def name_of(function: Callable[..., Any]) -> str:
    """Where a user's function is found."""
    name = getattr(function, "__qualname__", None)
    return f"{function.__module__}.{name}()" if name else repr(function)
