"""The provider's metadata, which Airflow reads without importing the rest of the package."""

from __future__ import annotations

from typing import Any

_INTEGRATION = "Dataflow Model on Apache Spark"


def _modules(package: str, *names: str) -> list[dict[str, Any]]:
    modules = [f"airflow_dataflow_provider.{package}.{name}" for name in names]
    return [{"integration-name": _INTEGRATION, "python-modules": modules}]


def _option(description: str, kind: str, default: str | None, example: str | None = None) -> dict[str, Any]:
    return {
        "description": description,
        "version_added": "0.1.0",
        "type": kind,
        "example": example,
        "default": default,
    }


def get_provider_info() -> dict[str, Any]:
    """The provider's metadata, as ``airflow/provider_info.schema.json`` describes it."""
    return {
        "package-name": "airflow-dataflow-provider",
        "name": "Dataflow",
        "description": "The Dataflow Model on Apache Spark: one windowed pipeline as batch, micro-batches or a stream, "
        "and sensors on its watermarks.",
        "integrations": [{"integration-name": _INTEGRATION, "tags": ["apache", "spark", "streaming"]}],
        "hooks": _modules("hooks", "dataflow"),
        "operators": _modules("operators", "batch", "micro_batch", "stream", "stop", "signal"),
        "sensors": _modules("sensors", "watermark"),
        "triggers": _modules("triggers", "turn", "watermark"),
        "connection-types": [
            {
                "connection-type": "dataflow",
                "hook-class-name": "airflow_dataflow_provider.hooks.dataflow.DataflowHook",
                "hook-name": "Dataflow on Spark",
                "ui-field-behaviour": {
                    "hidden-fields": ["host", "schema", "login", "password", "port", "extra"],
                    "relabeling": {},
                    "placeholders": {"state_root": "s3://bucket/dataflow", "python": "/opt/driver/bin/python"},
                },
                "conn-fields": {
                    "state_root": {
                        "label": "State root",
                        "description": "URL under which pipelines store their state, reachable from Airflow and Spark",
                        "schema": {"type": ["string", "null"]},
                    },
                    "spark_conn_id": {
                        "label": "Spark connection",
                        "description": "The connection through which drivers are submitted",
                        "schema": {"type": ["string", "null"], "default": "spark_default"},
                    },
                    "python": {
                        "label": "Driver's Python",
                        "description": "Interpreter with this package and pyspark; by default Airflow's own",
                        "schema": {"type": ["string", "null"]},
                    },
                    "conf": {
                        "label": "Spark properties",
                        "description": 'JSON for every driver, for example {"spark.executor.memory": "2g"}',
                        "schema": {"type": ["string", "null"]},
                    },
                },
            }
        ],
        "config": {
            "dataflow": {
                "description": "The Dataflow provider.",
                "options": {
                    "run_folder": _option(
                        "Local folder of the drivers' logs and locks. Default: the folder dataflow in base_log_folder.",
                        "string",
                        None,
                        "/var/lib/airflow/dataflow",
                    ),
                    "keep_runs": _option("Days for which the folder of an ended driver is kept.", "float", "30"),
                    "stop_grace": _option(
                        "Seconds in which a driver must finish its epoch when its task is killed.", "float", "15"
                    ),
                },
            }
        },
    }
