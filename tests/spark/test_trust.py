"""Who reads a pane log runs no code that stands in it (docs/trust.md)."""

from __future__ import annotations

import json
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider import Combiner, Count
from airflow_dataflow_provider.model.errors import StateError
from airflow_dataflow_provider.tables.pane_log import PaneLogReader
from tests.spark.pane_logs import open_log, pipeline


@dataclass(frozen=True)
class Product(Combiner):
    column: str
    result_type = float

    def create(self) -> float:
        return 1.0

    def add(self, accumulator: float, value: Any) -> float:
        return accumulator * value

    def merge(self, left: float, right: float) -> float:
        return left * right

    def extract(self, accumulator: float) -> float:
        return accumulator


class Touches:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("code", ["Product('value')", "__import__('os').system('true')", "Count()"])
def test_a_crafted_header_runs_nothing_in_the_reader(tmp_path: Path, code: str) -> None:
    open_log(tmp_path, pipeline())
    header, touched = tmp_path / "panes" / "pane_log.json", tmp_path / "touched"
    document = json.loads(header.read_text())
    for beside in ({}, {"class": "os:system"}, {"class": f"{__name__}:Touches"}):
        crafted = {"code": code, "pickle": pickle.dumps(Touches(touched)).hex(), **beside}
        header.write_text(json.dumps({**document, "combiners": {"count": crafted, "total": crafted}}))
        reader = PaneLogReader(str(tmp_path))
        reader.panes()
        if beside or code != "Count()":
            with pytest.raises(StateError):
                reader.current()
        assert not touched.exists()


def test_discarding_panes_of_a_combiner_of_ones_own_are_added_up_by_who_brings_it(tmp_path: Path) -> None:
    what = pipeline({"count": Count(), "product": Product("value")})
    open_log(tmp_path, what)
    assert json.loads((tmp_path / "panes" / "pane_log.json").read_text())["combiners"]["product"] == {
        "code": "Product(column='value')", "class": f"{__name__}:Product"
    }  # fmt: skip
    assert PaneLogReader(str(tmp_path)).panes().columns[0] == "window_start"
    with pytest.raises(StateError) as refused:
        PaneLogReader(str(tmp_path)).current()
    assert refused.value.code == "STATE_NEEDS_COMBINER"
    assert "product" in PaneLogReader(str(tmp_path), combiners=what.grouping.combiners).current().columns
