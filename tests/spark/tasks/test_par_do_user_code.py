"""Functions that users wrote: known by name, and carried to workers that cannot import them."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider import (
    AnyOf,
    AtCount,
    AtPattern,
    AtPunctuation,
    AtWatermark,
    Combiner,
    Count,
    Files,
    FixedWindows,
    PerElement,
    Pipeline,
    Repeat,
    SequenceOf,
    SubmissionError,
    Vectorised,
    column,
)
from airflow_dataflow_provider.cli.pipelines import load_pipeline
from airflow_dataflow_provider.model.predicates import PythonPredicate
from airflow_dataflow_provider.spark.tasks.user_code import carry, check_named


def named(row: Any) -> Any:
    return row


class Group:
    @staticmethod
    def named(row: Any) -> Any:
        return row

    def bound(self, row: Any) -> Any:
        return row


def with_function(function: Callable[[Any], Any]) -> Pipeline:
    source = Pipeline("p", Files("a", event_time="at"))
    return (
        source.par_do(Vectorised(function))
        .group_by_key_and_window(key="key", window=FixedWindows("1h"))
        .combine(n=Count())
        .par_do(PerElement(function, {"key": str}))
        .group_by_key_and_window(key="key", window=FixedWindows("1h"))
        .combine(n=Count())
    )


@pytest.mark.parametrize("function", [named, Group.named, len])
def test_a_function_with_a_name_in_its_module_is_known_by_it(function: Callable[[Any], Any]) -> None:
    check_named(with_function(function))


@pytest.mark.parametrize(
    "function", [lambda row: row, functools.partial(named), Group().bound, functools.wraps(named)(lambda row: row)]
)
def test_a_function_that_its_name_does_not_lead_to_is_refused(function: Callable[[Any], Any]) -> None:
    with pytest.raises(SubmissionError, match="cannot be found by its name") as refusal:
        check_named(with_function(function))
    assert refusal.value.code == "SUBMIT_FUNCTION"


@pytest.mark.parametrize(
    "predicate",
    [
        PythonPredicate(lambda row: row["end"], reads=("end",)),
        ~PythonPredicate(lambda row: row["end"], reads=("end",)) | (column("end") == 1),
    ],
)
@pytest.mark.parametrize("of", [AtPunctuation, AtPattern])
def test_a_predicate_that_its_name_does_not_lead_to_is_refused(of: type[AtPattern], predicate: PythonPredicate) -> None:
    trigger = SequenceOf(AtCount(1), Repeat(AnyOf(of(predicate), AtWatermark())))
    source = Pipeline("p", Files("a", event_time="at"))
    pipeline = source.group_by_key_and_window(key="key", window=FixedWindows("1h"), trigger=trigger)
    with pytest.raises(SubmissionError, match=r"the function of PythonPredicate\(.*<lambda>") as refusal:
        check_named(pipeline.combine(n=Count()))
    assert refusal.value.code == "SUBMIT_FUNCTION"


@dataclass(frozen=True)
class Largest(Combiner):
    """A user's own, which holds a function."""

    column: str
    by: Callable[[Any], Any]
    result_type = float
    create = add = merge = extract = named


def test_a_function_within_a_combiner_of_a_users_own_has_a_name_too() -> None:
    source = Pipeline("p", Files("a", event_time="at")).group_by_key_and_window(key="key", window=FixedWindows("1h"))
    check_named(source.combine(n=Largest("x", by=abs)))
    with pytest.raises(SubmissionError, match="cannot be found by its name"):
        check_named(source.combine(n=Largest("x", by=lambda value: -value)))


def test_a_pipeline_from_a_file_reaches_a_worker_that_finds_neither_the_file_nor_what_is_beside_it(
    tmp_path: Path,
) -> None:
    from pyspark import cloudpickle

    folder = tmp_path / "users"
    (folder / "words").mkdir(parents=True)
    (folder / "words" / "__init__.py").write_text("")
    (folder / "words" / "cut.py").write_text("def half(text):\n    return text[: len(text) // 2]\n")
    (folder / "flights.py").write_text(
        "from words.cut import half\n"
        "from airflow_dataflow_provider import Count, Files, FixedWindows, PerElement, Pipeline\n"
        "def halved(row):\n"
        "    return {'key': half(row['key'])}\n"
        "halves = Pipeline('halves', Files('a', event_time='at')).par_do(PerElement(halved, {'key': str}))"
        ".group_by_key_and_window(key='key', window=FixedWindows('1h')).combine(n=Count())\n"
    )
    pipeline = load_pipeline(f"{folder / 'flights.py'}:halves")
    try:
        check_named(pipeline)
        carry(pipeline)
        (tmp_path / "pickled").write_bytes(cloudpickle.dumps(pipeline))  # type: ignore[no-untyped-call]
    finally:
        sys.path.remove(str(folder))
        for name in ("words", "words.cut", "dataflow_pipeline_flights"):
            cloudpickle.unregister_pickle_by_value(sys.modules.pop(name))  # type: ignore[no-untyped-call]
    worker = (
        "import pickle; pipeline = pickle.load(open('pickled', 'rb')); "
        "print(pipeline.grouping.par_dos[0].results({'key': 'abcd'}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", worker], cwd=tmp_path, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert found.stdout.strip() == "[{'key': 'ab'}]", found.stderr
