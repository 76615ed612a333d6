"""The pipelines of worlds: drawn from every family of the comparison with the reference, and printed as code."""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.watermark_policies import BoundedDelay, DelayWatermark, WatermarkPolicy
from airflow_dataflow_provider.testing import strategies, transcript
from tests.simulate.rows import options
from tests.spark.comparison import FAMILIES

_MODULES = re.compile(r"airflow_dataflow_provider\.testing\.strategies\.\w+\.")
ENDINGS = (".parquet", ".csv.gz", ".jsonl.zst", ".parquet")
"""Of the files of a world, by its number."""
_DRAWN = 4
"""Of so many the last one is taken: what is drawn first is always trivial."""


def draw_pipeline(number: int) -> Pipeline:
    """A pipeline of any family; the same number gives the same one."""
    families = sorted(FAMILIES)
    drawn: list[Pipeline] = []

    @seed(number)
    @settings(
        max_examples=_DRAWN,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(FAMILIES[families[number % len(families)]])
    def collect(pipeline: Pipeline) -> None:
        drawn.append(pipeline)

    collect()
    ending = ENDINGS[number // 2 % len(ENDINGS)]
    source = Files(
        f"source/*{ending}", event_time="happened", watermark=_policy(number), max_rejected_share=1, **options(ending)
    )
    return replace(drawn[-1], source=source)


def ending_of(pipeline: Pipeline) -> str:
    """What the names of the source's files end in."""
    if not isinstance(pipeline.source, Files):
        raise TypeError(pipeline.source)
    return pipeline.source.path.partition("*")[2]


def _policy(number: int) -> WatermarkPolicy:
    idle_after = "1m" if number % 3 else None
    if number % 4 == 3:
        return BoundedDelay(("0s", "10s", "3m")[number // 4 % 3], idle_after=idle_after)
    return DelayWatermark(idle_after=idle_after)


def written(pipeline: Pipeline) -> str:
    """A pipeline as the code that makes it."""
    return _MODULES.sub("", repr(pipeline))


def read_pipeline(code: str) -> Pipeline:
    """Read back :func:`written`."""
    pipeline = eval(code, _names())
    if not isinstance(pipeline, Pipeline):
        raise TypeError(code)
    return pipeline


@cache
def _names() -> dict[str, Any]:
    """What generated pipelines are written with: the package's names, and the functions and windows of strategies."""
    found = dict[str, Any](transcript.NAMES)
    for module in pkgutil.iter_modules(strategies.__path__):
        found |= vars(importlib.import_module(f"{strategies.__name__}.{module.name}"))
    return found
