from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_dataflow_provider.cli.explanation import explain
from airflow_dataflow_provider.cli.words.triggers import trigger_words
from airflow_dataflow_provider.model.triggers import AtWatermark, Repeat, SequenceOf, Trigger
from tests.cli.conftest import Run
from tests.cli.explained import departures, total, unknown

HERE = Path(__file__).parent
FILE = HERE / "explained.py"
WHEN_COMPLETE = "when W_100 reaches the end of the window"


@pytest.mark.parametrize("name", ["departures", "total", "unknown"])
def test_the_words_are_those_that_were_agreed_on(command: Run, name: str) -> None:
    said = command("explain", f"{FILE}:{name}")
    assert (said.status, said.err) == (0, "")
    assert said.out == (HERE / "golden" / f"{name}.txt").read_text(encoding="utf-8")


def test_json_has_the_same_words_and_the_facts_behind_them(command: Run) -> None:
    document = command("explain", f"{FILE}:departures", "--json").json()
    assert document["pipeline"] == "departures"
    assert document["fingerprint"] == departures.fingerprint()
    assert document["definition"] == repr(departures)
    assert document["percentiles"] == list(departures.percentiles())
    assert document["refusals"] == []
    explained = explain(departures)
    assert document["sections"] == {section.name: list(section.lines) for section in explained.sections}


def test_why_the_engine_refuses_is_told_with_the_code(command: Run) -> None:
    assert [error.code for error in explain(unknown).refusals] == ["ENGINE_WINDOW"]
    (refusal,) = command("explain", f"{FILE}:unknown", "--json").json()["refusals"]
    assert refusal["error"] == "ENGINE_WINDOW"
    assert refusal["todo"]


def test_what_the_engine_runs_it_does_not_refuse() -> None:
    assert explain(departures).refusals == explain(total).refusals == ()


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (AtWatermark(97), "once, when W_97 reaches the end of the window"),
        (
            Repeat(AtWatermark()),
            f"{WHEN_COMPLETE}, and from then on in every epoch that brings the window something new",
        ),
        (
            SequenceOf(AtWatermark(90), AtWatermark(99.5)),
            "first when W_90 reaches the end of the window; then when W_99.5 reaches the end of the window",
        ),
        (
            Repeat(SequenceOf(AtWatermark(90))),
            "again and again: first when W_90 reaches the end of the window",
        ),
    ],
)
def test_a_trigger_reads_as_a_clause(trigger: Trigger, words: str) -> None:
    assert trigger_words(trigger) == words


def test_repeating_twice_is_repeating() -> None:
    assert trigger_words(Repeat(Repeat(AtWatermark()))) == trigger_words(Repeat(AtWatermark()))


def test_a_pipeline_that_computes_nothing_is_refused(command: Run, tmp_path: Path) -> None:
    file = tmp_path / "pipelines_of_nothing.py"
    file.write_text("from airflow_dataflow_provider import *\np = Pipeline('p', Files('x/', event_time='at'))")
    said = command("explain", f"{file}:p")
    assert (said.status, said.code, said.out) == (2, "DEFINITION_INCOMPLETE", "")


def test_explaining_starts_no_spark() -> None:
    code = (
        "import json, sys; from airflow_dataflow_provider.__main__ import main;"
        f"main(['explain', {str(FILE) + ':departures'!r}, '--json']);"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = set(json.loads(out.splitlines()[-1]))
    assert "airflow_dataflow_provider" in loaded
    assert not loaded & {"pyspark", "airflow", "pandas"}
