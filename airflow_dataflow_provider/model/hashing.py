"""The hash of a key, one key at a time: what windows shifted by key, and an engine's state partitions, stand on.

FNV-1a (64 bits, `draft-eastlake-fnv`) over the UTF-8 bytes of a text, and the finaliser of SplitMix64 over the 64 bits
of a number; the values of a key are folded together with ``h = mix(h ^ value)``. An engine computes the same for whole
columns; the number must never change, for states stand on it.
"""

from __future__ import annotations

import datetime as dt

from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.time import to_micros

_MASK = 2**64 - 1
_NULL = 0x9E3779B97F4A7C15


def key_hash(key: tuple[object, ...]) -> int:
    """An unsigned 64-bit hash over text, integers, booleans, dates, times and None.

    Raises:
        DefinitionError: ``DEFINITION_KEY`` for a value of another type.
    """
    folded = 0
    for value in key:
        folded = _mix(folded ^ _hash(value))
    return folded


def _hash(value: object) -> int:
    match value:
        case None:
            return _NULL
        case str():
            return _fnv1a(value.encode())
        case bool() | int():
            return _mix((int(value) + _NULL) & _MASK)
        case dt.datetime():
            return _mix((to_micros(value) + _NULL) & _MASK)
        case dt.date():
            return _mix((value.toordinal() - dt.date(1970, 1, 1).toordinal() + _NULL) & _MASK)
        case _:
            raise DefinitionError(
                f"{value!r} cannot be part of a key",
                reason="its hash says where its state lives, and must be the same for ever",
                hint="use text, an integer, a boolean, a date or a time",
                code="DEFINITION_KEY",
            )


def _fnv1a(data: bytes) -> int:
    folded = 0xCBF29CE484222325
    for byte in data:
        folded = ((folded ^ byte) * 0x100000001B3) & _MASK
    return folded


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)
