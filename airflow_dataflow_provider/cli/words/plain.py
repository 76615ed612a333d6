"""Small parts of speech: series, numbers, watermarks, code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from airflow_dataflow_provider.model.code_name import code_name
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
    return f"{code_name(function)}()" if hasattr(function, "__qualname__") else repr(function)
