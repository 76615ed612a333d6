"""The reference of classes: a page a topic, of which the docstrings fill the rest."""

from __future__ import annotations

import importlib
import inspect
from collections import defaultdict
from types import ModuleType
from typing import Final

import airflow_dataflow_provider as package
from airflow_dataflow_provider import Combiner, Predicate, Trigger, WindowStrategy
from airflow_dataflow_provider.model.par_do import ParDo
from airflow_dataflow_provider.model.sinks import Sink
from airflow_dataflow_provider.model.sources import Source

TITLES: Final = {
    "pipelines": "Pipelines",
    "sources": "Sources",
    "windows": "Windows",
    "triggers": "Triggers and predicates",
    "combiners": "Combiners",
    "par_do": "ParDo",
    "runs": "Runs",
    "reading": "Reading results",
    "airflow": "Airflow",
    "testing": "Testing",
    "errors": "Errors",
}
"""Each page with its title, in the order of the table of contents."""

_TOPICS: Final = {
    "model.sources": "sources",
    "model.watermark_policies": "sources",
    "model.watermarks": "sources",
    "model.windows": "windows",
    "model.triggers": "triggers",
    "model.predicates": "triggers",
    "model.combiners": "combiners",
    "model.par_do": "par_do",
    "model.batch": "runs",
    "model.modes": "runs",
    "model.errors": "errors",
    "model": "pipelines",
    "spark": "runs",
    "tables": "reading",
    "progress": "reading",
    "testing": "testing",
}
"""The page of a public name, by the longest of these that its module begins with."""

_MORE: Final = {
    "airflow": (
        "operators.batch:DataflowBatchOperator",
        "operators.micro_batch:DataflowMicroBatchOperator",
        "operators.finite:FiniteRunOperator",
        "operators.stream:DataflowStreamOperator",
        "operators.base:DataflowOperator",
        "operators.stop:DataflowStopOperator",
        "operators.signal:DataflowSignalOperator",
        "sensors.watermark:WatermarkSensor",
        "hooks.dataflow:DataflowHook",
        "hooks.dataflow:DataflowSettings",
    ),
    "reading": (
        "progress.status.status:read_status",
        "progress.status.status:Status",
        "progress.status.findings:Finding",
        "progress.log.row_counts:RowCounts",
    ),
    "runs": ("spark.running.submit:Submission",),
    "testing": (
        "testing.panes:assert_panes",
        "testing.panes:pane",
        "testing.clock:HandDrivenClock",
        "testing.audit:panes_of_reference",
    ),
}
"""What users import from modules of the package, besides the names that the package itself exports."""


_PROTOCOLS: Final = (
    Combiner,
    ParDo,
    Predicate,
    Sink,
    Source,
    Trigger,
    WindowStrategy,
)
"""Whose methods are called by engines."""


def pages() -> dict[str, str]:
    """The Markdown of each page, by its name."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in package.__all__:
        if (home := _home(name)) is not None:
            found[_topic(home)].append(f"{home}.{name}")
    for topic, places in _MORE.items():
        for place in places:
            found[topic].append(f"{package.__name__}.{place.replace(':', '.')}")
    return {topic: _page(title, found[topic]) for topic, title in TITLES.items()}


def _page(title: str, names: list[str]) -> str:
    return "\n".join([f"# {title}\n", *(_class(name) for name in dict.fromkeys(names))])


def _class(name: str) -> str:
    """The docstring of a class with its methods, if these are for users to call or to write."""
    value = getattr(package, name.rpartition(".")[2], None)
    is_task = name.startswith((f"{package.__name__}.operators.", f"{package.__name__}.sensors."))
    is_ready_made = inspect.isclass(value) and issubclass(value, _PROTOCOLS) and not inspect.isabstract(value)
    return f"::: {name}\n" + ("    options:\n      members: false\n" if is_task or is_ready_made else "")


def _home(name: str) -> str | None:
    """The module that defines an exported name; None for aliases of types, which have no docstring."""
    value = getattr(package, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        return str(value.__module__) if value.__module__.startswith(package.__name__) else None
    module = type(value).__module__
    return module if module.startswith(package.__name__) and hasattr(_module(module), name) else None


def _module(name: str) -> ModuleType:
    return importlib.import_module(name)


def _topic(module: str) -> str:
    inside = module.removeprefix(f"{package.__name__}.")
    return _TOPICS[max((prefix for prefix in _TOPICS if f"{inside}.".startswith(f"{prefix}.")), key=len)]
