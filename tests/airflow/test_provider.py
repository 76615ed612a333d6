from __future__ import annotations

import importlib
import json
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import airflow
import pytest
from airflow.providers_manager import ProvidersManager
from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime

from airflow_dataflow_provider.get_provider_info import get_provider_info
from airflow_dataflow_provider.hooks.dataflow import DataflowHook, DataflowSettings

NAME = "airflow-dataflow-provider"


@pytest.fixture(scope="module")
def manager() -> ProvidersManager:
    found = ProvidersManager()
    found.initialize_providers_list()
    return found


def test_airflow_finds_the_provider_at_its_version(manager: ProvidersManager) -> None:
    provider = manager.providers[NAME]
    assert provider.data.items() >= get_provider_info().items()
    assert provider.version == distribution(NAME).version


def test_the_metadata_fits_airflows_schema() -> None:
    import jsonschema

    schema = Path(airflow.__file__).parent / "provider_info.schema.json"
    jsonschema.validate(get_provider_info(), json.loads(schema.read_text()))


@pytest.mark.parametrize("kind", ["hooks", "operators", "sensors", "triggers"])
def test_every_module_that_is_listed_exists_and_none_is_left_out(kind: str) -> None:
    (entry,) = get_provider_info()[kind]
    for module in entry["python-modules"]:
        importlib.import_module(module)
    package = importlib.import_module(f"airflow_dataflow_provider.{kind}")
    suffix = kind.removesuffix("s").capitalize()
    defining = {
        value.__module__
        for path in Path(package.__path__[0]).glob("*.py")
        for value in vars(importlib.import_module(f"{package.__name__}.{path.stem}")).values()
        if isinstance(value, type) and value.__name__.endswith(suffix) and value.__module__.startswith(package.__name__)
    }
    only_to_derive_from = {f"{package.__name__}.{name}" for name in ("base", "finite")}
    assert defining - only_to_derive_from == {*entry["python-modules"]}


def test_the_connection_type_is_made_by_its_hook() -> None:
    hook = ProvidersManagerTaskRuntime().hooks["dataflow"]
    assert hook is not None
    assert hook.hook_name == DataflowHook.hook_name == "Dataflow on Spark"
    assert hook.hook_class_name == f"{DataflowHook.__module__}.{DataflowHook.__name__}"


def test_the_form_of_the_connection_has_the_fields_that_the_hook_reads(manager: ProvidersManager) -> None:
    (connection_type,) = get_provider_info()["connection-types"]
    fields: dict[str, Any] = connection_type["conn-fields"]
    assert {*fields} == {*DataflowSettings.__dataclass_fields__}
    DataflowSettings.from_extra(dict.fromkeys(fields), conn_id="dataflow_default")
    assert {f"extra__dataflow__{name}" for name in fields} <= {*manager.connection_form_widgets}
    assert "host" in manager.field_behaviours["dataflow"]["hidden_fields"]


def test_the_options_have_the_defaults_that_the_code_falls_back_to(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk import conf

    from airflow_dataflow_provider.hooks import dataflow

    options = get_provider_info()["config"]["dataflow"]["options"]
    assert float(options["stop_grace"]["default"]) == dataflow.stop_grace()
    logs = Path(conf.get("logging", "base_log_folder"))
    assert DataflowHook().run("id").folder == logs / "dataflow" / "id"
