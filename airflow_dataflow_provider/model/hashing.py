"""The hash of a key. Windows shifted by key and the state partitions of an engine depend on it.

It is FNV-1a (64 bits, `draft-eastlake-fnv`) over the UTF-8 bytes of text, and the finaliser of SplitMix64 over the 64
bits of a number. The values of a key are combined by ``h = mix(h ^ value)``. An engine computes the same for whole
columns. The result must never change, since stored states depend on it.
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
                reason="the hash of a key decides where its state is stored, and must never change",
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
