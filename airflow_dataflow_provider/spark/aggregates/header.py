"""Combiners in the header of a pane log: readable, and enough to add discarding panes up again."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model import combiners as built_in
from airflow_dataflow_provider.model.combiners import Combiner
from airflow_dataflow_provider.model.errors import StateError

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.grouping import Grouping


def combiners_to_json(grouping: Grouping) -> dict[str, dict[str, str]]:
    """A grouping's combiners by output name: the code that makes them; the user's own pickled beside it."""
    return {name: _to_json(combiner) for name, combiner in grouping.combiners.items()}


def _to_json(combiner: Combiner) -> dict[str, str]:
    if getattr(built_in, type(combiner).__name__, None) is type(combiner):
        return {"code": repr(combiner)}
    # By value, where a class lives in a module that readers cannot import (a script, a notebook).
    from pyspark import cloudpickle  # noqa: PLC0415 - who only reads has no Spark

    return {"code": repr(combiner), "pickle": cloudpickle.dumps(combiner).hex()}  # type: ignore[no-untyped-call]


def combiners_from_json(documents: Mapping[str, Mapping[str, str]]) -> dict[str, Combiner]:
    """Read back :func:`combiners_to_json`.

    Raises:
        StateError: ``STATE_UNREADABLE`` where a combiner of the user's cannot be loaded here.
    """
    return {name: _from_json(name, document) for name, document in documents.items()}


def _from_json(name: str, document: Mapping[str, str]) -> Combiner:
    if "pickle" not in document:
        return _from_code(document["code"])
    try:
        combiner: Combiner = pickle.loads(bytes.fromhex(document["pickle"]))  # noqa: S301 - written by our own job
    except Exception as error:
        raise StateError(
            f"the combiner {name}={document['code']} cannot be loaded here: {error}",
            why="it is the user's own, and discarding panes are added up with it",
            todo="make the module that it comes from importable where the pane log is read",
            code="STATE_UNREADABLE",
        ) from error
    return combiner


def _from_code(code: str) -> Combiner:
    """A call of a built-in combiner with literal arguments; nothing is evaluated."""
    call = ast.parse(code, mode="eval").body
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in built_in.__all__:
        raise StateError(
            f"the pane log's header has no combiner where one should be: {code!r}",
            todo="restore pane_log.json",
            code="STATE_UNREADABLE",
        )
    named: dict[str, Any] = {
        keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg is not None
    }
    combiner: Combiner = getattr(built_in, call.func.id)(*map(ast.literal_eval, call.args), **named)
    return combiner
