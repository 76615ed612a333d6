from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from airflow_dataflow_provider import (
    DISCARDING,
    INGRESS_TIME,
    AtCount,
    AtPeriod,
    AtPunctuation,
    Count,
    Files,
    FixedWindows,
    Pipeline,
    Repeat,
    Sum,
    column,
)
from airflow_dataflow_provider.cli import explain as command_line
from airflow_dataflow_provider.cli.explanation import explain
from airflow_dataflow_provider.model.errors import DefinitionError
from tests.cli.conftest import Run
from tests.cli.explained import PIPELINES, departures

FILE = Path(__file__).parent / "explained.py"


@cache
def facts_of(name: str) -> dict[str, Any]:
    return explain(PIPELINES[name])


def by(records: list[dict[str, Any]], name: str) -> dict[str, dict[str, Any]]:
    return {record[name]: record for record in records}


# The document


def test_json_is_the_facts(command: Run) -> None:
    said = command("explain", f"{FILE}:departures", "--json")
    assert (said.status, said.err) == (0, "")
    assert said.json() == json.loads(json.dumps(facts_of("departures")))
    assert said.json()["definition"] == repr(departures)


@pytest.mark.parametrize("name", PIPELINES)
def test_the_records_of_a_table_have_the_same_fields(name: str) -> None:
    for records in facts_of(name).values():
        if isinstance(records, list):
            assert len({tuple(record) for record in records}) <= 1


@pytest.mark.parametrize("name", PIPELINES)
def test_the_tables_have_every_fact_of_the_json(command: Run, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(command_line, "_WIDTH", 100_000)
    said = command("explain", f"{FILE}:{name}")
    assert (said.status, said.err) == (0, "")
    facts = command("explain", f"{FILE}:{name}", "--json").json()
    printed = [cell for record in facts.pop("refused") for cell in record.values()]
    for mode in facts["modes"]:
        refused = mode.pop("refused")
        printed += [] if refused is None else [refused["error"], refused["what"]]
    del facts["definition"]  # it is printed line by line
    assert [text for text in (*printed, *leaves(facts)) if text not in said.out] == []


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (leaf for each in value.values() for leaf in leaves(each))
    elif isinstance(value, list):
        yield from (leaf for each in value for leaf in leaves(each))
    elif value is not None:
        yield f"{value:g}" if isinstance(value, float) else str(value)


def test_the_pipeline_is_code_one_call_a_line(command: Run) -> None:
    lines = command("explain", f"{FILE}:departures").out.splitlines()
    code = lines[1 : lines.index("")]
    assert [line.partition("(")[0] for line in code] == ["Pipeline", ".group_by_key_and_window", ".combine", ".write"]
    assert "".join(code) == repr(departures)


# The four answers


def test_a_trigger_is_a_tree_with_a_sentence_from_each_class() -> None:
    parts = [part for part in facts_of("departures")["parts"] if part["part"] == "trigger"]
    assert [(part["depth"], part["code"]) for part in parts] == [
        (0, "SequenceOf(...)"), (1, "AtWatermark(97)"), (1, "Repeat(...)"), (2, "AtWatermark()"),
    ]  # fmt: skip
    assert parts[0]["does"] == "Fires with one trigger after the other, and finishes with the last."


def test_a_trigger_and_a_window_of_ones_own_explain_themselves() -> None:
    does = {part["code"]: part["does"] for part in facts_of("own")["parts"]}
    assert does["Never()"] == "A trigger of one's own."
    assert does["Validity()"] == "How long an offer is good, by its own word; offers that overlap are one."


def test_every_class_that_a_pipeline_is_written_with_has_a_sentence() -> None:
    facts = [facts_of(name) for name in PIPELINES]
    assert [part["code"] for each in facts for part in each["parts"] if not part["does"]] == []
    assert [one["code"] for each in facts for one in each["aggregates"] if not one["is"]] == []


def test_every_grouping_has_its_row() -> None:
    first, second = facts_of("sessions")["groupings"]
    assert (first["key"], first["window"], first["lateness"], first["output_time"]) == (
        ("user", "advertisement"), "SessionWindows('30m')", "1h", "LATEST",
    )  # fmt: skip
    assert (second["key"], second["refinement"]) == (("advertisement",), "ACCUMULATING_AND_RETRACTING")


# Watermarks, proofs, modes


def test_percentiles_looked_at_and_published() -> None:
    (marks,) = facts_of("departures")["watermarks"]
    assert marks["looked_at"] == [97, 100]
    assert marks["published"] == departures.percentiles()
    assert facts_of("machines")["watermarks"][0]["estimate"] == "processing time"
    assert facts_of("machines")["watermarks"][0]["signals"] == ["report"]


def test_a_risk_is_accepted_for_a_reason_or_without_need_or_proven_not_to_be_there() -> None:
    found = {(name, risk["risk"]): risk for name in ("total", "own") for risk in facts_of(name)["risks"]}
    lost = found["total", "may-lose-data"]
    assert (lost["finding"], "can finish" in lost["reason"]) == ("accepted", True)
    assert found["own", "needs-retraction"]["reason"] == "nothing asks for it"
    assert found["own", "may-never-fire"]["finding"] == "proven not to be there"


def first_grouping(**how: Any) -> Pipeline:
    return (
        Pipeline("p", Files("x/", event_time="at"))
        .group_by_key_and_window(key="user", window=FixedWindows("1h"), **how)
        .combine(n=Count())
    )


def counted(pipeline: Pipeline, **how: Any) -> Pipeline:
    return pipeline.group_by_key_and_window(key="user", window=FixedWindows("1d"), **how).combine(hours=Count())


EARLY = Repeat(AtPeriod("1m"))
RISKY: dict[str, tuple[int, Callable[..., Pipeline]]] = {
    "may-lose-data": (0, lambda *accept: first_grouping(trigger=AtCount(3), allowed_lateness="1h", accept=accept)),
    "counts twice": (
        0,
        lambda *accept: counted(first_grouping(trigger=EARLY, refinement=DISCARDING, accept=accept)),
    ),
    "becomes empty": (1, lambda *accept: counted(first_grouping(trigger=EARLY), accept=accept)),
}


@pytest.mark.parametrize("name", RISKY)
def test_the_reason_of_an_accepted_risk_is_why_the_plan_would_be_refused(name: str) -> None:
    grouping, make = RISKY[name]
    with pytest.raises(DefinitionError) as refused:
        make()
    risk = refused.value.code.removeprefix("DEFINITION_").lower().replace("_", "-")
    (found,) = [
        each for each in explain(make(risk))["risks"] if (each["grouping"], each["risk"]) == (grouping + 1, risk)
    ]
    assert found["finding"] == "accepted"
    assert found["reason"] in refused.value.what


def test_each_mode_says_what_it_runs_as_or_why_it_is_refused() -> None:
    modes = by(facts_of("total")["modes"], "mode")
    refused = {mode: record["refused"]["error"] for mode, record in modes.items()}
    assert refused == {
        "batch": "SUBMIT_UNBOUNDED_BATCH",
        "batch --from --to": "SUBMIT_INTERVAL_WINDOW",
        "micro-batch": "DEFINITION_MAY_NEVER_FIRE",
        "streaming": "DEFINITION_MAY_NEVER_FIRE",
        "automatic": "DEFINITION_MAY_NEVER_FIRE",
    }
    assert by(facts_of("departures")["modes"], "mode")["automatic"]["runs_as"] == "batch"


def test_a_step_on_frames_can_make_elements_by_arrival_late() -> None:
    assert {row["row"] for row in facts_of("machines")["set_aside"]} == {"expired", "rejected"}


def test_options_that_a_plan_cannot_have_are_named_with_the_modes_that_refuse_them() -> None:
    options = {record["option"]: record["refused_by"] for record in facts_of("departures")["options"]}
    assert options["--input-share 0.5"]["batch"] == "SUBMIT_INPUT_SHARE"
    assert "batch" not in options["--input-share 0.97"]
    assert options["--no-allow-processing-time"] == {}
    looking = {record["option"]: record["refused_by"] for record in facts_of("sessions")["options"]}
    assert looking["--no-allow-processing-time"]["streaming"] == "SUBMIT_PROCESSING_TIME"


# Rows that go elsewhere


def test_rows_that_are_late_expired_rejected_or_dropped_have_a_place() -> None:
    aside = [(row["row"], row["grouping"], row["goes_to"]) for row in facts_of("sessions")["set_aside"]]
    assert aside == [
        ("late", 1, "its window"),
        ("expired", 1, "expired/"),
        ("late", 2, "its window"),
        ("expired", 2, "expired/"),
        ("rejected", None, "rejected/"),
        ("dropped", None, "nowhere, uncounted"),
    ]


def test_nothing_is_late_in_the_global_window_or_by_arrival() -> None:
    by_arrival = (
        Pipeline("p", Files("x/", event_time=INGRESS_TIME))
        .group_by_key_and_window(key="user", window=FixedWindows("1h"))
        .combine(n=Count())
    )
    assert {row["row"] for row in explain(by_arrival)["set_aside"]} == {"rejected"}
    assert {row["row"] for row in facts_of("total")["set_aside"]} == {"rejected"}


# Refusals


def test_why_the_engine_refuses_is_told_with_the_code(command: Run) -> None:
    (refusal,) = command("explain", f"{FILE}:own", "--json").json()["refused"]
    assert refusal["error"] == "ENGINE_COMBINER"
    assert refusal["hint"]


def test_an_expression_of_spark_after_a_grouping_is_refused(command: Run, module: Callable[[str], Path]) -> None:
    file = module(
        "p = (Pipeline('p', Files('x/', event_time='at'))\n"
        "    .group_by_key_and_window(key='origin', window=FixedWindows('1h')).combine(flights=Count())\n"
        "    .par_do(SparkColumns('flights > 1'))\n"
        "    .group_by_key_and_window(key='origin', window=FixedWindows('1d')).combine(hours=Count()))"
    )
    (refusal,) = command("explain", f"{file}:p", "--json").json()["refused"]
    assert refusal["error"] == "ENGINE_PAR_DO"


@pytest.mark.parametrize("name", sorted({*PIPELINES} - {"own"}))
def test_what_the_engine_runs_it_does_not_refuse(name: str) -> None:
    assert facts_of(name)["refused"] == []


def test_a_column_of_whatever_type_is_no_reason_for_a_refusal() -> None:
    text = (
        Pipeline("text", Files("x/", event_time="at"))
        .group_by_key_and_window(
            key="user", window=FixedWindows("1h"), trigger=Repeat(AtPunctuation(column("kind") == "END"))
        )
        .combine(total=Sum("amount"))
    )
    assert explain(text)["refused"] == []


def test_a_pipeline_that_computes_nothing_is_refused(command: Run, module: Callable[[str], Path]) -> None:
    file = module("p = Pipeline('p', Files('x/', event_time='at'))")
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
