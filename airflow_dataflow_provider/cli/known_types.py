"""The types of a pipeline's columns, as far as they are known before anything runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airflow_dataflow_provider.model.errors import DataflowError
from airflow_dataflow_provider.model.par_do import AssignWindows, SparkColumns, Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files

if TYPE_CHECKING:
    import polars as pl

    from airflow_dataflow_provider.spark.stages.stages import Stages

Types = dict[str, str | None]
"""Types by column; None: it depends on the input's types."""


@dataclass(frozen=True, slots=True)
class KnownTypes:
    """Types of columns, and where they are from.

    Attributes:
        source: the types of the source's columns.
        origin: where these are from, or why they are unknown.
        stages: the pipeline with its types; where they are unknown, once for each guess that fits it.
        refusals: why the engine does not take the pipeline with these types.
    """

    source: Types
    origin: str
    stages: tuple[Stages, ...] = ()
    refusals: tuple[DataflowError, ...] = ()

    def outputs(self, grouping: int) -> Types:
        """The types of a grouping's aggregates."""
        return _agreed([stages.kernel(grouping).aggregates.output_schema for stages in self.stages])

    def state(self, grouping: int) -> Types:
        """The columns of an open window in the state. ``total.*``: those of an aggregate that depend on its type."""
        return _agreed([stages.kernel(grouping).state_schema for stages in self.stages])

    def published(self) -> Types:
        """The columns of a result, after the steps that come last."""
        return _agreed([stages.published() for stages in self.stages])


def known_types(pipeline: Pipeline) -> KnownTypes:
    """The types by the first file of the source. Where there is none, what is the same for any types."""
    from airflow_dataflow_provider.spark.running.submit import first_schema, needs_spark  # noqa: PLC0415 - polars
    from airflow_dataflow_provider.spark.sources.listing import SourceListing  # noqa: PLC0415
    from airflow_dataflow_provider.spark.stages.stages import Stages  # noqa: PLC0415

    if not isinstance(pipeline.source, Files):
        return KnownTypes({}, "unknown: the source has no files")
    try:
        listing = SourceListing(pipeline.source)
        listing.check()
        if listing.is_empty():
            return _guessed(pipeline, "unknown: the source has no files yet")
    except Exception as error:  # noqa: BLE001 - a file system raises anything; a definition can be explained without it
        what = error.what if isinstance(error, DataflowError) else f"{type(error).__name__}: {error}"
        return _guessed(pipeline, f"unknown: {what}")
    known = KnownTypes({}, "from the first file of the source")
    try:
        schema = first_schema(pipeline, listing) or {}
        known = replace(known, source={name: _named(dtype) for name, dtype in schema.items()})
        if needs_spark(pipeline):
            return replace(_guessed(pipeline, f"{known.origin}; unknown after SparkColumns"), source=known.source)
        return replace(known, stages=(Stages.of(pipeline, schema),))
    except DataflowError as error:
        return replace(known, refusals=(error,))


def _guessed(pipeline: Pipeline, origin: str) -> KnownTypes:
    """The same pipeline with several types for all columns: results that agree do not depend on the types.

    Only a run knows the columns that Spark's expressions and functions of frames make, so those of the first grouping
    are guessed after its steps.
    """
    import polars as pl  # noqa: PLC0415 - other commands need none

    from airflow_dataflow_provider.spark.stages.stages import Stages  # noqa: PLC0415

    first, *others = pipeline.groupings
    if any(isinstance(step, SparkColumns | Vectorised) for step in first.par_dos):
        first = replace(first, par_dos=tuple(step for step in first.par_dos if isinstance(step, AssignWindows)))
        pipeline = replace(pipeline, groupings=(first, *others))
    later = [*pipeline.pending, *(step for grouping in others for step in grouping.par_dos)]
    if any(isinstance(step, Vectorised) for step in later):
        return KnownTypes({}, origin)
    columns = (*(first.reads() or ()), *pipeline.input_columns())
    found: list[Stages] = []
    refusals: list[DataflowError] = []
    for guess in (pl.Int64(), pl.Float64(), pl.Decimal(18, 2), pl.String()):
        try:
            found.append(Stages.of(pipeline, dict.fromkeys(columns, guess)))
        except DataflowError as error:
            if error.code.startswith("ENGINE_") and not refusals:  # whatever the types
                refusals.append(error)
        except pl.exceptions.PolarsError:  # an expression of the user's takes other types
            continue
    return KnownTypes({}, origin, tuple(found), tuple(refusals))


def _agreed(schemas: Sequence[Mapping[str, pl.DataType]]) -> Types:
    """What is the same in all of them."""
    agreed: Types = {}
    for name in dict.fromkeys(name for schema in schemas for name in schema):
        found = {_named(schema[name]) if name in schema else "" for schema in schemas}
        agreed[f"{name.partition('.')[0]}.*" if "" in found else name] = found.pop() if len(found) == 1 else None
    return agreed


def _named(dtype: pl.DataType) -> str:
    return re.sub(r"time_unit=|time_zone=|'", "", str(dtype))
