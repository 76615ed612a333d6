"""What the user's own combiners and triggers keep in the state, as bytes that run nothing when they are read.

A pickle names the classes and functions that make its values, and whoever writes the file chooses the names. Here only
plain values are made (Python's, and numpy's), and instances of classes of the package that the combiner or trigger
itself is from. Values of other classes are refused when they are written, so that the run that keeps them fails, and
not the one that reads them.
"""

from __future__ import annotations

import io
import pickle
import sys
import zoneinfo
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from airflow_dataflow_provider.model.errors import StateError, SubmissionError

_PLAIN: Final = frozenset(
    {
        *(("builtins", name) for name in ("bool", "bytearray", "bytes", "complex", "dict", "float", "frozenset")),
        *(("builtins", name) for name in ("int", "list", "object", "range", "set", "slice", "str", "tuple")),
        *(("collections", name) for name in ("Counter", "OrderedDict", "defaultdict", "deque")),
        *(("datetime", name) for name in ("date", "datetime", "time", "timedelta", "timezone")),
        ("decimal", "Decimal"),
        ("fractions", "Fraction"),
        ("uuid", "UUID"),
        ("zoneinfo", "ZoneInfo"),
        *(("numpy", name) for name in ("dtype", "ndarray")),
        *((f"numpy.{core}.multiarray", "scalar") for core in ("_core", "core")),
        *((f"numpy.{core}.multiarray", "_reconstruct") for core in ("_core", "core")),
        *((f"numpy.{core}.numeric", "_frombuffer") for core in ("_core", "core")),
    }
)
"""Modules and names of what makes plain values."""

_OURS: Final = "airflow_dataflow_provider.model."
"""States of built-in triggers, which a trigger of one's own may be made of."""


def dump(value: object, owner: object) -> bytes:
    """A value as bytes.

    Args:
        value: what a combiner or trigger keeps.
        owner: that combiner or trigger.

    Raises:
        SubmissionError: ``ENGINE_KEPT_VALUE`` where it could not be read back.
    """
    buffer = io.BytesIO()
    _Writer(buffer, owner).dump(value)
    return buffer.getvalue()


def load(data: bytes, owner: object) -> Any:  # noqa: ANN401 - it is the owner's own
    """Read back :func:`dump`.

    Raises:
        StateError: ``STATE_FOREIGN_CODE`` where the bytes name anything else than :func:`dump` writes.
    """
    return _Reader(io.BytesIO(data), owner).load()


class _Writer(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, owner: object) -> None:
        super().__init__(buffer, protocol=5)
        self._owner = owner

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401 - as the base class has it
        """Called for every class, every function, and every value that is not of a built-in container or number."""
        named = value if isinstance(value, type) or callable(value) else type(value)
        if value is not getattr and not _is_bound_to_zone(value) and not _may_be_named(named, self._owner):
            raise SubmissionError(
                f"{self._owner!r} keeps a value of {_name(named)}, which is not read back from a state",
                reason="files of the state must not decide which code runs",
                hint="keep plain values (numbers, text, times, tuples, lists, sets, dicts), or instances of classes of "
                f"the package of {type(self._owner).__name__}",
                code="ENGINE_KEPT_VALUE",
            )
        return NotImplemented


class _Reader(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, owner: object) -> None:
        super().__init__(buffer)
        self._owner = owner

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as the base class has it
        """Called for every name that the bytes bring."""
        if (module, name) == ("builtins", "getattr"):
            return _of_zone
        if (module, name) in _PLAIN:
            return super().find_class(module, name)
        # Nothing is imported because of a file, and only a class that is really of the owner's package is taken.
        if module in sys.modules and _is_of_owners(module, self._owner):
            found = super().find_class(module, name)
            if isinstance(found, type) and _is_of_owners(found.__module__, self._owner):
                return found
        raise StateError(
            f"what {self._owner!r} has kept names {module}.{name}",
            reason="that is no plain value, and no class of its package that is imported with it; it is not loaded",
            hint="import the class where the combiner or trigger is defined; else find out who can write to the state",
            code="STATE_FOREIGN_CODE",
        )


def _may_be_named(named: Callable[..., object] | type, owner: object) -> bool:
    module = getattr(named, "__module__", None) or ""
    if (module, getattr(named, "__qualname__", "")) in _PLAIN:
        return True
    if not isinstance(named, type):
        return False
    return issubclass(named, np.generic | np.dtype) or _is_of_owners(module, owner)


def _is_of_owners(module: str, owner: object) -> bool:
    package = type(owner).__module__.partition(".")[0]
    return module.startswith((_OURS, f"{package}.")) or module == package


def _is_bound_to_zone(value: object) -> bool:
    return getattr(value, "__self__", None) is zoneinfo.ZoneInfo


def _of_zone(value: object, name: str) -> object:
    """``getattr``, for the one call of it that a plain value needs: time zones are made by a method of their class."""
    if value is zoneinfo.ZoneInfo and name == "_unpickle":
        return zoneinfo.ZoneInfo._unpickle  # type: ignore[attr-defined]  # noqa: SLF001 - so a zone pickles itself
    raise StateError(
        f"what was kept names the attribute {name!r}",
        reason="nothing of ours writes that, and it is not loaded",
        hint="find out who can write to the state, and restore it",
        code="STATE_FOREIGN_CODE",
    )


def _name(named: object) -> str:
    return f"{getattr(named, '__module__', '?')}.{getattr(named, '__qualname__', named)}"
