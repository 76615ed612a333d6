"""The DAG files, connections and commands of the pages, as a real Airflow takes them."""

from __future__ import annotations

import inspect
import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_dataflow_provider.get_provider_info import get_provider_info
from docs.site.build import DOCS, ROOT
from tests.airflow.conftest import DAGS, Standin
from tests.airflow.test_dags import result, run
from tests.docs.scripts import DAG_FILES, SNIPPETS, TOLD_TO_AIRFLOW, lines_of

README = ROOT / "README.md"

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("airflow_database")]


@pytest.fixture(scope="module")
def dags() -> Iterator[dict[str, Any]]:
    from airflow.dag_processing.dagbag import DagBag

    folder = DAGS / "documented"
    folder.mkdir()
    for name in (*DAG_FILES, "tutorial/orders.py"):
        shutil.copy(SNIPPETS / name, folder)
    bag = DagBag(dag_folder=str(folder))
    assert bag.import_errors == {}
    yield dict(bag.dags)
    shutil.rmtree(folder)


def test_every_dag_file_makes_dags(dags: dict[str, Any]) -> None:
    files = {dag.fileloc.rpartition("/")[2] for dag in dags.values()}
    assert files == {name.rpartition("/")[2] for name in DAG_FILES}


def test_the_nightly_batch_takes_its_day(dags: dict[str, Any], standin: Standin) -> None:
    assert result(run(dags["nightly_orders"], 2), "orders")["interval"] == [
        "2025-12-31T02:00:00Z", "2026-01-01T02:00:00Z",
    ]  # fmt: skip
    assert len(standin.starts) == 1


def test_the_correction_is_two_days_behind(dags: dict[str, Any], standin: Standin) -> None:
    interval = result(run(dags["correct_orders"], 0), "recompute")["interval"]
    assert interval == ["2025-12-29T00:00:00Z", "2025-12-30T00:00:00Z"]
    assert len(standin.starts) == 1


def test_the_gate_of_a_batch_opens_once_its_interval_is_computed(dags: dict[str, Any], standin: Standin) -> None:
    run(dags["nightly_orders"], 2)
    assert result(run(dags["gated_on_the_nightly_batch"], 2), "computed")["answer"] == "reached"
    assert len(standin.starts) == 1


def test_the_tasks_of_the_readme_can_be_made() -> None:
    from airflow.sdk import DAG

    (block,) = re.findall(
        r"^```python\n([^`]*DataflowMicroBatchOperator\(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL
    )
    with DAG("readme", schedule=None) as dag:
        exec(compile(block, README.name, "exec"), {})
    assert {*dag.task_ids} == {"hourly", "ensure", "complete"}


def test_commands_for_airflow_have_the_options_that_there_are() -> None:
    from airflow.cli.cli_parser import get_parser

    parsed = 0
    for script in TOLD_TO_AIRFLOW:
        for program, *words in lines_of(script):
            if program == "airflow":
                get_parser().parse_args(words)
                parsed += 1
    assert parsed > 3


@pytest.mark.parametrize("script", sorted(name for name in TOLD_TO_AIRFLOW if "connections" in name))
def test_connections_say_what_the_hook_reads(script: str) -> None:
    from airflow_dataflow_provider.hooks.dataflow import DataflowSettings

    text = (SNIPPETS / script).read_text(encoding="utf-8").replace("'\"$PWD/states\"'", "/home/me/states")
    said = dict(re.findall(r"^export (\w+)='(.+)'$", text, re.MULTILINE))
    assert json.loads(said["AIRFLOW_CONN_SPARK_DEFAULT"])["conn_type"] == "spark"
    connection = json.loads(said["AIRFLOW_CONN_DATAFLOW_DEFAULT"])
    assert connection["conn_type"] == "dataflow"
    assert DataflowSettings.from_extra(connection["extra"], conn_id="dataflow_default").state_root


def test_the_reference_has_every_argument_of_the_airflow_classes() -> None:
    from airflow_dataflow_provider.operators.base import DataflowOperator
    from airflow_dataflow_provider.operators.batch import DataflowBatchOperator
    from airflow_dataflow_provider.operators.finite import FiniteRunOperator
    from airflow_dataflow_provider.operators.signal import DataflowSignalOperator
    from airflow_dataflow_provider.operators.stop import DataflowStopOperator
    from airflow_dataflow_provider.operators.stream import DataflowStreamOperator
    from airflow_dataflow_provider.sensors.watermark import WatermarkSensor

    rows = {
        "`DataflowBatchOperator`": DataflowBatchOperator,
        "both": FiniteRunOperator,
        "`DataflowStreamOperator`": DataflowStreamOperator,
        "these three": DataflowOperator,
        "`DataflowStopOperator`": DataflowStopOperator,
        "`DataflowSignalOperator`": DataflowSignalOperator,
        "`WatermarkSensor`": WatermarkSensor,
    }
    told = dict(re.findall(r"^\| (.+?) \| (.+) \|$", _section("Arguments"), re.MULTILINE))
    for row, kind in rows.items():
        arguments = {*inspect.signature(kind.__init__).parameters} - {"self", "kwargs"}
        assert {*re.findall(r"`(\w+)`", told[row])} == arguments, row
        assert {*re.findall(r"`(\w+)` T", told[row])} == arguments & {*kind.template_fields}, row


def test_the_reference_has_every_field_of_the_connection_and_every_option() -> None:
    info = get_provider_info()
    fields = info["connection-types"][0]["conn-fields"]
    assert {*re.findall(r"^\| `(\w+)` \|", _section("The connection"), re.MULTILINE)} == {*fields}
    options = info["config"]["dataflow"]["options"]
    assert {*re.findall(r"^\| `(\w+)` \|", _section("Options of Airflow's configuration"), re.MULTILINE)} == {*options}


def _section(heading: str) -> str:
    page = (DOCS / "reference" / "airflow.md").read_text(encoding="utf-8")
    return page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
