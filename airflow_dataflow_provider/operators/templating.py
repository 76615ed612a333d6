"""Whether a value is known when the DAG is parsed, or only when the task runs."""

from __future__ import annotations

from typing import TypeGuard


def is_literal(value: object) -> TypeGuard[str]:
    """Whether this is a text without a template in it: what can be checked while the DAG is parsed."""
    return isinstance(value, str) and "{{" not in value and "{%" not in value
