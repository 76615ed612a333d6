"""What users' combiners and triggers keep comes back as it was, and a crafted file runs nothing."""

from __future__ import annotations

import collections
import datetime as dt
import decimal
import fractions
import os
import pickle
import subprocess
import uuid
import zoneinfo
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest

from airflow_dataflow_provider import AtCount
from airflow_dataflow_provider.model.errors import StateError, SubmissionError
from airflow_dataflow_provider.spark.values.kept_values import dump, load


class Owner:
    """Stands for a combiner or trigger of this package."""


class Colour(Enum):
    RED = 1


@dataclass(frozen=True, slots=True)
class Pair:
    left: object
    right: object


class Nested:
    class Inner:
        def __eq__(self, other: object) -> bool:
            return isinstance(other, Nested.Inner) and vars(self) == vars(other)

        __hash__ = None  # type: ignore[assignment]


VIENNA = zoneinfo.ZoneInfo("Europe/Vienna")
VALUES = [
    None, True, 1, -1.5, "é", b"\0", 1j, [1, (2, {3: {4}})], frozenset({1}), bytearray(b"x"), range(3), slice(1),
    decimal.Decimal("1.50"), fractions.Fraction(1, 3), uuid.UUID(int=7), dt.timedelta(1), dt.date(2020, 1, 1),
    dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 1, tzinfo=VIENNA), dt.time(1),
    collections.Counter("abca"), collections.deque([1, 2], 2), collections.OrderedDict(a=1),
    collections.defaultdict(list, {"a": [1]}), np.float64(1.5), np.int32(3), np.datetime64("2020-01-01"),
    Pair(Colour.RED, Pair(1, None)), Nested.Inner(), AtCount(3).initial(),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_and_classes_of_the_owners_package_come_back(value: object) -> None:
    assert load(dump(value, Owner()), Owner()) == value


@pytest.mark.parametrize("array", [np.arange(4.0).reshape(2, 2), np.array(["a", None], dtype=object)], ids=str)
def test_arrays_come_back(array: np.ndarray) -> None:
    assert load(dump(array, Owner()), Owner()).tolist() == array.tolist()


class Runs:
    """Pickles as a call."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[object, ...]:
        return self.call


def ours() -> None:
    raise AssertionError("a file has called a function of the package")


@pytest.mark.parametrize(
    "call",
    [
        (os.system, "true"), (eval, "1"), (exec, "1"), (getattr, str, "format"), (subprocess.Popen, "true"),
        (__import__, "os"), (ours,), (open, "/dev/null"), (getattr, zoneinfo.ZoneInfo, "clear_cache"),
        (pickle.loads, pickle.dumps(1)),
    ],
    ids=lambda call: getattr(call[0], "__qualname__", ""),
)  # fmt: skip
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_crafted_file_runs_nothing(call: tuple[object, ...], protocol: int) -> None:
    crafted = pickle.dumps([1, Runs(*call)], protocol=protocol)
    with pytest.raises((StateError, pickle.UnpicklingError)) as refused:
        load(crafted, Owner())
    assert getattr(refused.value, "code", "STATE_FOREIGN_CODE") == "STATE_FOREIGN_CODE"


def test_a_name_that_leads_out_of_the_owners_package_is_not_followed() -> None:
    """Here ``subprocess`` is an attribute of a module of the owner's package."""
    module = __name__.encode()
    crafted = b"\x80\x04\x8c%c%s\x94\x8c\x10subprocess.Popen\x94\x93(\x8c\x04true\x94tR." % (len(module), module)
    with pytest.raises(StateError, match="subprocess"):
        load(crafted, Owner())


def test_a_module_that_is_not_imported_is_not_imported_by_a_file() -> None:
    with pytest.raises(StateError):
        load(b"\x80\x04\x8c\x10tests.not_there0\x94\x8c\x01a\x94\x93.", Owner())


def test_what_could_not_be_read_back_is_refused_when_it_is_written(tmp_path: Path) -> None:
    for value in (tmp_path, os.system, [Path], {"a": collections.ChainMap()}):
        with pytest.raises(SubmissionError) as refused:
            dump(value, Owner())
        assert refused.value.code == "ENGINE_KEPT_VALUE"
