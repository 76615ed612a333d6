"""Combiners in the header of a pane log: readable, and enough to add discarding panes of built-in ones up again.

A header is data. Built-in combiners are made from it, by name and literal arguments; code of the user's is neither kept
in it nor looked for by it. Who reads panes of combiners of one's own brings them along.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model import combiners as built_in
from airflow_dataflow_provider.model.combiners import Combiner
from airflow_dataflow_provider.model.errors import DataflowError, StateError

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.grouping import Grouping


def combiners_to_json(grouping: Grouping) -> dict[str, dict[str, str]]:
    """A grouping's combiners by output name: the code that makes them, and of the user's own where their class is."""
    return {name: _to_json(combiner) for name, combiner in grouping.combiners.items()}


def _to_json(combiner: Combiner) -> dict[str, str]:
    kind = type(combiner)
    if getattr(built_in, kind.__name__, None) is kind:
        return {"code": repr(combiner)}
    return {"code": repr(combiner), "class": f"{kind.__module__}:{kind.__qualname__}"}


def combiners_from_json(
    documents: Mapping[str, Mapping[str, str]], own: Mapping[str, Combiner] | None = None
) -> dict[str, Combiner]:
    """Read back :func:`combiners_to_json`.

    Args:
        documents: combiners by output name.
        own: the user's own ones among them, as the reader brings them.

    Raises:
        StateError: ``STATE_NEEDS_COMBINER`` where one of the user's own is missing or is another; ``STATE_UNREADABLE``.
    """
    return {name: _from_json(name, document, own or {}) for name, document in documents.items()}


def _from_json(name: str, document: Mapping[str, str], own: Mapping[str, Combiner]) -> Combiner:
    code = document["code"]
    if "class" not in document:
        return _from_code(code)
    if name in own and repr(own[name]) == code:
        return own[name]
    given = f"and not {own[name]!r}" if name in own else "and it was not given"
    raise StateError(
        f"the panes of {name!r} are added up by {code}, of {document['class']}, {given}",
        reason="it is the user's own code, and a pane log does not say which code its readers run",
        hint="read it with PaneLogReader(url, combiners=pipeline.grouping.combiners); panes() needs no combiners",
        code="STATE_NEEDS_COMBINER",
    )


def _from_code(code: str) -> Combiner:
    """A call of a built-in combiner with literal arguments; nothing is evaluated."""
    try:
        call = ast.parse(code, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in built_in.__all__:
            kind = getattr(built_in, call.func.id)
            named: dict[str, Any] = {
                keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg is not None
            }
            combiner = kind(*map(ast.literal_eval, call.args), **named)
            if isinstance(combiner, Combiner):
                return combiner
    except (DataflowError, MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise _no_combiner(code) from error
    raise _no_combiner(code)


def _no_combiner(code: str) -> StateError:
    return StateError(
        f"the pane log's header has no combiner where one should be: {code!r}",
        reason="it was not written by this package, or was changed since",
        hint="restore pane_log.json",
        code="STATE_UNREADABLE",
    )
