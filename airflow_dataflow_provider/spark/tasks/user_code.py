"""Users' Python code on its way to Spark's workers: known by its name, carried with all that it needs."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from airflow_dataflow_provider.model.errors import SubmissionError

if TYPE_CHECKING:
    from airflow_dataflow_provider.model.pipeline import Pipeline

_OURS = __name__.partition(".")[0]


def check_named(pipeline: Pipeline) -> None:
    """Refuse functions that cannot be told from others by their name, wherever a definition holds them.

    A state continues only with the definition that it was begun with. Two lambdas look the same there, so a changed one
    would continue with the results of another.

    Raises:
        SubmissionError: ``SUBMIT_FUNCTION``.
    """
    for holder, part in _parts(pipeline):
        if callable(part) and not isinstance(part, type) and not _is_named(part):
            raise SubmissionError(
                f"the function of {holder!r} cannot be found by its name",
                reason="a state must notice when another function takes its place, and two lambdas look the same",
                hint="define it with def at the top level of a module",
                code="SUBMIT_FUNCTION",
            )


def _is_named(function: Callable[..., Any]) -> bool:
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = getattr(function, "__qualname__", None)
    if module is None or name is None:
        return False
    try:
        return bool(attrgetter(name)(module) == function)
    except AttributeError:
        return False


def carry(pipeline: Pipeline) -> None:
    """Let the modules that users wrote travel with what of them a pipeline holds.

    Spark's workers start elsewhere: they need not find the file that the pipeline was loaded from, nor what it imports
    from beside itself. What is installed is found, and does not travel.
    """
    from pyspark import cloudpickle  # noqa: PLC0415 - the checks above need no Spark

    names = {_module_of(part) for _, part in _parts(pipeline)}
    roots = {sys.modules[name] for name in names if name in sys.modules}
    folders = {folder for module in roots if (folder := _folder(module)) is not None}
    for module in [*sys.modules.values()]:
        if (module in roots or _is_beside(module, folders)) and _is_users(module):
            cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _is_beside(module: ModuleType, folders: set[Path]) -> bool:
    file = _file(module)
    return file is not None and any(file.is_relative_to(folder) for folder in folders)


def _parts(value: object, holder: object = None) -> Iterator[tuple[object, object]]:
    """Every part of a definition, after the value that holds it."""
    yield holder, value
    if isinstance(value, tuple | list | frozenset | set):
        for part in value:
            yield from _parts(part, holder)
    elif isinstance(value, Mapping):
        yield from _parts(tuple(value.values()), holder)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from _parts(getattr(value, field.name), value)


def _module_of(part: object) -> str:
    return str(part.__module__ if callable(part) and hasattr(part, "__module__") else type(part).__module__)


def _is_users(module: ModuleType) -> bool:
    """Whether a worker need not have it."""
    if module.__name__.partition(".")[0] == _OURS:
        return False
    if module.__name__ == "__main__":
        return True
    file = _file(module)
    return file is not None and not any(folder in file.parents for folder in _installed())


def _folder(module: ModuleType) -> Path | None:
    """Where what it imports from beside itself is: the folder of its topmost package, or its own."""
    file = _file(module)
    if file is None or not _is_users(module):
        return None
    return file.parents[module.__name__.count(".") + (file.name == "__init__.py")]


def _file(module: ModuleType) -> Path | None:
    name = getattr(module, "__file__", None)
    return _resolved(name) if isinstance(name, str) else None


@cache
def _resolved(name: str) -> Path:
    """There are more than a thousand modules to look at for every run, and links are slow to follow."""
    return Path(name).resolve()


@cache
def _installed() -> tuple[Path, ...]:
    return tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib", "purelib", "platlib"))
