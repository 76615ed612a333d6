from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from airflow_dataflow_provider.hooks import dataflow
from airflow_dataflow_provider.hooks.dataflow import DataflowHook, DataflowSettings
from airflow_dataflow_provider.hooks.reference import PipelineReference
from airflow_dataflow_provider.hooks.submission import APPLICATION, Submission, driver_environment
from airflow_dataflow_provider.model.errors import DataflowError, DefinitionError, SubmissionError
from airflow_dataflow_provider.user_modules import VARIABLE
from tests.airflow.conftest import Standin, until


def connect(
    monkeypatch: pytest.MonkeyPatch, conn_id: str, conn_type: str, host: str | None = None, **extra: object
) -> None:
    document = {"conn_type": conn_type, "host": host, "extra": extra}
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(document))


def submission(
    pipeline: str = "flights:departures", *, conn_id: str = "dataflow_default", **options: object
) -> Submission:
    hook = DataflowHook(conn_id)
    return hook.submission(pipeline, ["--mode", "batch"], name="departures batch", run=hook.run("run"), **options)  # type: ignore[arg-type]


def option(command: tuple[str, ...], name: str) -> list[str]:
    return [value for key, value in pairwise(command) if key == name]


@pytest.mark.parametrize(
    ("host", "extra", "expected"),
    [
        ("local[2]", {}, ["--master", "local[2]"]),
        (
            "spark://master:7077",
            {"deploy-mode": "client"},
            ["--master", "spark://master:7077", "--deploy-mode", "client"],
        ),
        (
            "yarn",
            {"deploy-mode": "cluster", "queue": "night"},
            ["--master", "yarn", "--queue", "night", "--deploy-mode", "cluster"],
        ),
    ],
)
def test_the_spark_provider_writes_the_arguments_of_the_connection(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, host: str, extra: dict[str, str], expected: list[str]
) -> None:
    # The contract with the private method that is relied upon: its shape, and what each kind of connection becomes.
    connect(monkeypatch, "spark_default", "spark", host, **extra)
    command = submission(properties={"spark.executor.memory": "2g"}).command
    assert Path(command[0]).name == "spark-submit"
    assert command[command.index(APPLICATION) :] == (APPLICATION, "run", "flights:departures", "--mode", "batch")
    rest = [*command[1 : command.index(APPLICATION)]]
    file = str(DataflowHook().run("run").folder / "spark.properties")
    for name, value in (("--properties-file", file), ("--name", "departures batch")):
        at = rest.index(name)
        assert rest[at + 1] == value
        del rest[at : at + 2]
    rest.remove("--load-spark-defaults")
    assert rest == expected


def test_a_kubernetes_connection_is_the_spark_providers_affair(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, "spark_default", "spark", "k8s://https://cluster", namespace="jobs")
    if importlib.util.find_spec("airflow.providers.cncf"):
        assert option(submission().command, "--conf") == ["spark.kubernetes.namespace=jobs"]
    else:
        with pytest.raises(SubmissionError, match="providers-cncf-kubernetes") as caught:
            submission()
        assert caught.value.code == "SUBMIT_SPARK_CONNECTION"


def test_the_tasks_properties_win_over_the_connections(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, "dataflow_default", "dataflow", conf='{"spark.a": true, "spark.b": "1"}')
    made = submission(properties={"spark.b": 2})
    assert made.properties == {"spark.a": "true", "spark.b": "2"}
    assert option(made.command, "--conf") == []


def test_no_property_is_in_the_arguments_of_a_process_or_readable_to_others(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect(monkeypatch, "dataflow_default", "dataflow", conf={"spark.hadoop.fs.s3a.secret.key": "s3cret"})
    masked: list[str] = []
    monkeypatch.setattr(dataflow, "mask_secret", masked.append)
    hook = DataflowHook()
    run = hook.run("run")
    made = hook.submission(
        "flights:departures",
        ["--mode", "batch", "--state", "here", "--run-id", "run"],
        name="departures",
        properties={"spark.hadoop.fs.azure.account.key.x": "t0ken", "spark.ui.port": 4050},
        run=run,
    )
    assert not [word for word in made.command if "s3cret" in word or "t0ken" in word]
    assert sorted(masked) == ["s3cret", "t0ken"]
    run.folder.mkdir(parents=True)
    run.folder.joinpath("spark.properties").write_text("left by a driver whose guardian was killed")
    made.write_properties()
    assert made.properties_file.stat().st_mode & 0o777 == 0o600
    assert "s3cret" in made.properties_file.read_text()
    standin.behave("hang")
    assert hook.launch(run, made)
    until(lambda: standin.starts)
    assert "t0ken" in standin.starts[0]["properties"]
    run.end()
    until(lambda: not run.alive)
    assert not made.properties_file.exists()


def test_without_properties_there_is_no_file_of_them_and_sparks_own_is_read(standin: Standin) -> None:
    made = submission()
    assert "--properties-file" not in made.command
    assert "--load-spark-defaults" not in made.command


def test_settings_of_the_engine_go_to_the_engine_and_what_is_nobodys_is_refused(standin: Standin) -> None:
    made = submission(properties={"dataflow.state.partitions": 4})
    assert made.command[-2:] == ("--conf", "dataflow.state.partitions=4")
    with pytest.raises(SubmissionError, match=r"spark\.hadoop\.fs\.s3a\.secret\.key") as caught:
        submission(properties={"fs.s3a.secret.key": "x"})
    assert caught.value.code == "SUBMIT_CONF"


def test_properties_are_written_as_java_reads_them(standin: Standin, tmp_path: Path) -> None:
    made = submission(properties={"spark.a b:c=d": " x\\y\n# 1=2", "spark.é": "ü😀"})
    DataflowHook().run("run").folder.mkdir(parents=True)
    made.write_properties()
    assert made.properties_file.read_text().splitlines() == [
        r"spark.a\ b\:c\=d=\ x\\y\n# 1=2",
        r"spark.\u00e9=\u00fc\ud83d\ude00",
    ]


def test_a_missing_spark_connection_is_an_error_and_not_yarn(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT")
    with pytest.raises(SubmissionError, match="AIRFLOW_CONN_SPARK_DEFAULT") as caught:
        submission()
    assert caught.value.code == "SUBMIT_SPARK_CONNECTION"


def test_the_default_dataflow_connection_may_be_missing_and_a_named_one_may_not(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW_CONN_DATAFLOW_DEFAULT")
    assert DataflowHook().settings == DataflowSettings()
    with pytest.raises(SubmissionError, match="no connection 'mine'"):
        _ = DataflowHook("mine").settings


def test_without_a_state_root_a_state_must_be_given(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    assert DataflowHook().state_url("flights:departures").endswith("/states/departures")
    monkeypatch.delenv("AIRFLOW_CONN_DATAFLOW_DEFAULT")
    with pytest.raises(SubmissionError, match="state_root") as caught:
        DataflowHook().state_url("flights:departures")
    assert caught.value.code == "SUBMIT_NO_STATE"


@pytest.mark.parametrize("extra", [{"state-root": "x"}, {"conf": "[1]"}, {"conf": "{"}])
def test_a_connection_with_a_field_that_means_nothing_is_refused(extra: dict[str, str]) -> None:
    with pytest.raises(SubmissionError) as caught:
        DataflowSettings.from_extra(extra, conn_id="dataflow_default")
    assert caught.value.code == "SUBMIT_CONNECTION"


def test_the_driver_gets_no_setting_and_no_secret_of_airflow(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW__CORE__FERNET_KEY", "secret")
    monkeypatch.setenv("AIRFLOW_VAR_TOKEN", "secret")
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    environment = submission().environment
    assert "secret" not in environment.values()
    assert not [name for name in environment if name.startswith(("AIRFLOW__", "AIRFLOW_CONN_", "AIRFLOW_VAR_"))]
    assert environment["HADOOP_CONF_DIR"] == "/etc/hadoop"


def test_the_drivers_python_is_the_connections_else_the_deployments_else_airflows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.delenv("PYSPARK_DRIVER_PYTHON", raising=False)
    pipeline = PipelineReference.parse("flights:departures")

    def chosen(python: str | None) -> tuple[str, str]:
        environment = driver_environment(pipeline, (), python)
        return environment["PYSPARK_DRIVER_PYTHON"], environment["PYSPARK_PYTHON"]

    assert chosen(None) == (sys.executable, sys.executable)
    assert chosen("/opt/driver/bin/python") == ("/opt/driver/bin/python",) * 2
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/deployed/bin/python")
    assert chosen(None) == ("/opt/deployed/bin/python",) * 2
    assert chosen("/opt/driver/bin/python") == ("/opt/driver/bin/python",) * 2


def test_a_pipeline_file_is_found_and_what_is_beside_it_importable(standin: Standin, tmp_path: Path) -> None:
    made = submission("flights.py:departures", folders=[tmp_path])
    file = str(tmp_path / "flights.py")
    assert f"{file}:departures" in made.command
    assert made.environment[VARIABLE].split(os.pathsep)[0] == str(tmp_path)


def test_the_file_beside_the_dag_wins_over_one_where_the_worker_happens_to_run(
    standin: Standin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "flights.py").write_text("")
    monkeypatch.chdir(elsewhere)
    made = submission("flights.py:departures", folders=[tmp_path])
    assert f"{tmp_path / 'flights.py'}:departures" in made.command


@pytest.mark.parametrize("how", ["script", "fingerprint"])
def test_a_users_module_does_not_take_the_place_of_pythons_own_in_a_driver(
    standin: Standin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    (tmp_path / "calendar.py").write_text("raise SystemExit('the user's calendar was imported')")
    (tmp_path / "beside.py").write_text("")
    module = tmp_path / "flights.py"
    module.write_text("import calendar, beside\n" + module.read_text())
    monkeypatch.chdir(tmp_path)
    made = submission("flights.py:departures", folders=[tmp_path])
    if how == "fingerprint":
        assert DataflowHook().fingerprint("flights.py:departures", [tmp_path])
        return
    program = [sys.executable, APPLICATION, "explain", f"{module}:departures"]
    told = subprocess.run(program, env=dict(made.environment), capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr


def test_on_a_cluster_a_file_that_would_hide_a_module_of_pythons_is_refused(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connect(monkeypatch, "spark_default", "spark", "yarn", **{"deploy-mode": "cluster"})
    (tmp_path / "calendar.py").write_text("")
    with pytest.raises(SubmissionError, match="another name") as caught:
        submission("calendar.py:departures", folders=[tmp_path])
    assert caught.value.code == "SUBMIT_PIPELINE_FILE"


def test_on_a_cluster_a_shipped_file_is_a_module_and_the_workers_python_is_not_imposed(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    connect(monkeypatch, "spark_default", "spark", "yarn", **{"deploy-mode": "cluster"})
    made = submission("flights.py:departures", folders=[tmp_path])
    assert "flights:departures" in made.command
    assert option(made.command, "--py-files") == [str(tmp_path / "flights.py")]
    assert "PYSPARK_PYTHON" not in made.environment
    connect(monkeypatch, "dataflow_default", "dataflow", python="/opt/on/the/cluster/python")
    made = submission("flights.py:departures", folders=[tmp_path])
    assert made.properties == {"spark.pyspark.python": "/opt/on/the/cluster/python"}


def test_a_pipeline_file_that_does_not_exist_is_an_error_that_says_where_it_was_looked_for(
    standin: Standin, tmp_path: Path
) -> None:
    with pytest.raises(SubmissionError, match=str(tmp_path / "none.py")) as caught:
        submission("none.py:departures", folders=[tmp_path])
    assert caught.value.code == "SUBMIT_PIPELINE_FILE"


@pytest.mark.parametrize("text", ["flights", ":departures", "flights:", "a b:c", "flights:departures()", "", "1x:y"])
def test_a_reference_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        PipelineReference.parse(text)
    assert caught.value.code == "SUBMIT_PIPELINE"


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_spark_submit_is_found_on_path_else_beside_the_python_else_in_its_pyspark(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_path = submission().command[0]
    assert on_path == str(tmp_path / "bin" / "spark-submit")
    # An environment that the connection names comes before PATH, which leads to Airflow's.
    python = executable(tmp_path / "venv" / "bin" / "python")
    connect(monkeypatch, "dataflow_default", "dataflow", python=str(python))
    assert submission().command[0] == on_path
    in_package = executable(tmp_path / "venv/lib/python3.11/site-packages/pyspark/bin/spark-submit")
    beside = executable(tmp_path / "venv" / "bin" / "spark-submit")
    assert submission().command[0] == str(beside)
    beside.unlink()
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert submission().command[0] == str(in_package)
    in_package.unlink()
    with pytest.raises(SubmissionError, match="pip install") as caught:
        submission()
    assert caught.value.code == "SUBMIT_NO_SPARK_SUBMIT"


def test_a_wrong_binary_on_the_connection_is_our_error(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, "spark_default", "spark", "local", **{"spark-binary": "rm"})
    with pytest.raises(DataflowError, match="spark-binary"):
        submission()


def test_the_test_button_tells_what_works_and_what_does_not(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(DataflowHook().state_url("a:b")).parent
    works, why = DataflowHook().test_connection()
    assert not works
    assert f"{root} is not a folder" in why
    root.mkdir()
    assert DataflowHook().test_connection()[0]
    assert list(root.iterdir()) == []
    connect(monkeypatch, "dataflow_default", "dataflow", python="/no/such/python")
    works, why = DataflowHook().test_connection()
    assert not works
    assert "/no/such/python" in why
    connect(monkeypatch, "dataflow_default", "dataflow", python=sys.executable)
    assert DataflowHook().test_connection()[0]
    monkeypatch.delenv("AIRFLOW_CONN_SPARK_DEFAULT")
    works, why = DataflowHook().test_connection()
    assert not works
    assert "spark_default" in why
