from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_dataflow_provider import Files, FixedWindows, Pipeline, Risk, Sum
from airflow_dataflow_provider.cli.explanation import explain
from airflow_dataflow_provider.cli.words.risks import without
from tests.cli.conftest import Run
from tests.cli.explained import PIPELINES, departures, own, sessions, total

HERE = Path(__file__).parent
FILE = HERE / "explained.py"


@pytest.mark.parametrize("name", PIPELINES)
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


@pytest.mark.parametrize("name", PIPELINES)
def test_no_two_sections_have_one_name(name: str) -> None:
    names = [section.name for section in explain(PIPELINES[name]).sections]
    assert len({*names}) == len(names)


def test_every_grouping_answers_the_four_questions() -> None:
    names = {section.name for section in explain(sessions).sections}
    assert {"what", "where", "when", "how", "what 2", "where 2", "when 2", "how 2"} <= names


def test_why_the_engine_refuses_is_told_with_the_code(command: Run) -> None:
    assert [error.code for error in explain(own).refusals] == ["ENGINE_COMBINER"]
    (refusal,) = command("explain", f"{FILE}:own", "--json").json()["refusals"]
    assert refusal["error"] == "ENGINE_COMBINER"
    assert refusal["hint"]


def test_an_expression_of_spark_after_a_grouping_is_told_to_be_refused(command: Run, tmp_path: Path) -> None:
    file = tmp_path / "pipelines_refused.py"
    file.write_text(
        "from tests.cli.explained import *\n"
        "p = departures_only.par_do(SparkColumns('flights > 1')).group_by_key_and_window(\n"
        "    key='origin', window=FixedWindows('1d')).combine(hours=Count())\n".replace(
            "departures_only",
            "Pipeline('p', Files('x/', event_time='at')).group_by_key_and_window("
            "key='origin', window=FixedWindows('1h')).combine(flights=Count())",
        )
    )
    (refusal,) = command("explain", f"{file}:p", "--json").json()["refusals"]
    assert refusal["error"] == "ENGINE_PAR_DO"


@pytest.mark.parametrize("name", sorted({*PIPELINES} - {"own"}))
def test_what_the_engine_runs_it_does_not_refuse(name: str) -> None:
    assert explain(PIPELINES[name]).refusals == ()


def test_what_a_risk_is_accepted_for_is_what_the_plan_would_be_refused_for() -> None:
    refused = without(total, 0, Risk.MAY_LOSE_DATA)
    assert refused is not None
    assert refused.code == "DEFINITION_MAY_LOSE_DATA"
    assert without(total, 0, Risk.NEEDS_RETRACTION) is None
    assert without(own, 0, Risk.NEEDS_RETRACTION) is None


def test_a_plan_that_a_stream_would_never_publish_says_so_for_each_mode_that_follows_its_source() -> None:
    (lines,) = [section.lines for section in explain(total).sections if section.name == "modes"]
    refused = [line.partition(":")[0] for line in lines if "DEFINITION_MAY_NEVER_FIRE" in line]
    assert refused == ["micro-batch", "streaming"]


def test_a_column_of_whatever_type_is_no_reason_for_a_refusal() -> None:
    from airflow_dataflow_provider import AtPunctuation, Repeat, column

    text = (
        Pipeline("text", Files("x/", event_time="at"))
        .group_by_key_and_window(
            key="user", window=FixedWindows("1h"), trigger=Repeat(AtPunctuation(column("kind") == "END"))
        )
        .combine(total=Sum("amount"))
    )
    assert explain(text).refusals == ()


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
