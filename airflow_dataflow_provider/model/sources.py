"""Sources: where elements come from, what their times are, and how the watermark is estimated from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from zoneinfo import ZoneInfo

from airflow_dataflow_provider.model.column_types import TIMESTAMP, ColumnTypes, column_types
from airflow_dataflow_provider.model.errors import DefinitionError
from airflow_dataflow_provider.model.file_formats import FileFormat, format_of, written
from airflow_dataflow_provider.model.modes import Boundedness
from airflow_dataflow_provider.model.time_formats import TimeFormats, has_offset, time_formats
from airflow_dataflow_provider.model.watermark_policies import LEARNED, WatermarkPolicy, check_policy


class IngressTime(Enum):
    """The event time of elements that have none of their own; prints as the constant's name."""

    INGRESS_TIME = "ingress-time"

    def __repr__(self) -> str:
        return self.name


INGRESS_TIME = IngressTime.INGRESS_TIME
"""``event_time=INGRESS_TIME``: an element happened when the source saw it (paper, section 1.2: windows of processing
time).

With an ``arrival_time`` column that is what the column says; without one it is the processing time of the epoch that
reads the element, and the watermark is perfect: it is the processing time."""


class Source(ABC):
    """Where elements come from. ``event_time`` names the column that says when each one happened."""

    __slots__ = ()

    event_time: str | IngressTime
    arrival_time: str | None
    watermark: WatermarkPolicy

    @property
    @abstractmethod
    def boundedness(self) -> Boundedness:
        """Whether the source ends."""

    @abstractmethod
    def identity(self) -> Source:
        """The source without its tuning: the part that a state follows no change of."""

    def columns(self) -> tuple[str, ...]:
        """The columns that the engine itself reads: the times."""
        return tuple(column for column in (self.event_time, self.arrival_time) if isinstance(column, str))

    @property
    def has_perfect_watermark(self) -> bool:
        """Whether event time is processing time, so that no element can be late."""
        return self.event_time is INGRESS_TIME and self.arrival_time is None


@dataclass(frozen=True, slots=True, repr=False)
class Files(Source):
    """Files below a path or matching a glob, each read once.

    The files must be complete when they appear under a matching name (write elsewhere, then rename). Within a run they
    are taken in the order of their modification time.

    Args:
        path: a folder or glob, on any file system that Spark reads.
        event_time: the column that says when an element happened: a timestamp with a time zone, or ISO 8601 text with
            an offset. Rows where it is null or unreadable go to the rejected output. Or :data:`INGRESS_TIME`.
        arrival_time: the column that says when the source saw the element; without one it is the processing time of the
            epoch that reads it.
        format: ``"parquet"``, ``"csv"``, ``"jsonl"``, or :class:`~.file_formats.Csv` with how fields are written. By
            default the path's ending says it; a folder is one of Parquet files. CSV and JSON lines may be compressed:
            ``.gz``, ``.zst``.
        time_zone: the zone of times that carry none, e.g. ``"UTC"``; without it such a column is refused.
        continuous: True says that the folder never ends: a batch over all of it is refused.
        watermark: how the watermark is estimated: :class:`DelayWatermark` learns the delay, :class:`BoundedDelay` takes
            a fixed one.
        max_files_per_epoch: an upper bound on the files of one epoch, or None.
        max_rejected_share: past this share of rejected rows (0 to 1) in an epoch the run fails. None: where it has read
            nothing but rejected rows; 1: never.
        schema: the types of columns, by name, e.g. ``{"zip": "string", "price": "decimal(18,2)"}``; those of the others
            are learned from the first file. It is kept as a tuple of pairs. See ``docs/reference/sources.md``.
        time_format: how times are written that are neither timestamps nor ISO 8601 text, for all time columns or by
            column: a pattern of Python's ``strptime`` such as ``"%d.%m.%Y %H:%M:%S"``, or ``"epoch_seconds"``,
            ``"epoch_milliseconds"``, ``"epoch_microseconds"``, ``"epoch_nanoseconds"``.
    """

    path: str
    event_time: str | IngressTime
    arrival_time: str | None = None
    format: FileFormat | str = ""
    time_zone: str | None = None
    continuous: bool = False
    watermark: WatermarkPolicy = LEARNED
    max_files_per_epoch: int | None = None
    max_rejected_share: float | None = None
    schema: Mapping[str, str] | ColumnTypes = ()
    time_format: str | Mapping[str, str] | TimeFormats = ()

    def __post_init__(self) -> None:
        if not isinstance(self.path, str) or not self.path:
            raise DefinitionError(f"Files needs a path, got {self.path!r}", code="DEFINITION_SOURCE")
        if not isinstance(self.event_time, str | IngressTime) or not self.event_time:
            raise DefinitionError(
                f"Files needs an event_time, got {self.event_time!r}",
                hint='name a column, or say event_time=INGRESS_TIME: "it happened when it arrived"',
                code="DEFINITION_SOURCE",
            )
        object.__setattr__(self, "format", format_of(self.path, self.format))
        check_policy(self.watermark, has_perfect_watermark=self.has_perfect_watermark)
        if self.time_zone is not None:
            _check_zone(self.time_zone)
        self._check_limits()
        object.__setattr__(self, "schema", column_types(self.schema))
        for column in self.columns():
            if self.said().get(column, TIMESTAMP) != TIMESTAMP:
                raise DefinitionError(
                    f"Files schema={{{column!r}: {self.said()[column]!r}}} is about a time column",
                    reason="the source's times are instants, whatever they are written as",
                    hint=f"leave {column!r} out of schema=",
                    code="DEFINITION_SOURCE",
                )

        self._check_formats()

    def _check_limits(self) -> None:
        files, share = self.max_files_per_epoch, self.max_rejected_share
        if not isinstance(self.continuous, bool):
            raise DefinitionError(
                f"Files continuous={self.continuous!r} is neither True nor False", code="DEFINITION_SOURCE"
            )
        if files is not None and (type(files) is not int or files < 1):
            raise DefinitionError(
                f"Files max_files_per_epoch={files!r} is not a number of files",
                hint="give a whole number of at least 1",
                code="DEFINITION_SOURCE",
            )
        if share is not None and (not isinstance(share, int | float) or not 0 <= share <= 1):
            raise DefinitionError(
                f"Files max_rejected_share={share!r} is not a share",
                hint="give a number from 0 to 1: 0.05 for 5 % of the rows",
                code="DEFINITION_SOURCE",
            )

    def _check_formats(self) -> None:
        """Refuse formats that contradict one another."""
        for column, name in self.said().items():
            lacks = self.file_format.lacks(name)
            if lacks:
                raise DefinitionError(
                    f"Files schema={{{column!r}: {name!r}}} is a type that {self.file_format.name} files do not have",
                    reason=lacks,
                    hint='say "string", and decode it in a step of the pipeline',
                    code="DEFINITION_SOURCE",
                )
        object.__setattr__(self, "time_format", time_formats(self.time_format, self.columns(), self.said()))
        for column, text in self.time_formats().items():
            if self.time_zone is None and not has_offset(text) and self.said().get(column) != "date":
                raise DefinitionError(
                    f"Files time_format={{{column!r}: {text!r}}} has no time zone",
                    reason="a local time means another instant in every zone",
                    hint='say which zone is meant: time_zone="Europe/Vienna"; or %z where the times have an offset',
                    code="DEFINITION_SOURCE",
                )

    @property
    def file_format(self) -> FileFormat:
        """The format of the files, whether ``format=`` or the path says it."""
        return format_of(self.path, self.format)

    def time_formats(self) -> dict[str, str]:
        """The formats of times that are neither timestamps nor ISO 8601 text, by column."""
        return dict(self.time_format if isinstance(self.time_format, tuple) else ())

    def said(self) -> dict[str, str]:
        """The types that columns are said to have, by name."""
        return dict(self.schema)

    @property
    def boundedness(self) -> Boundedness:
        """What is there when a run begins is bounded, unless ``continuous`` says otherwise."""
        return Boundedness.UNBOUNDED if self.continuous else Boundedness.BOUNDED

    def identity(self) -> Files:
        """The path, format, times and types; not the watermark's tuning nor the limits."""
        return Files(
            self.path, self.event_time, self.arrival_time, self.format, self.time_zone,
            schema=self.schema, time_format=self.time_format,
        )  # fmt: skip

    def __repr__(self) -> str:
        default = Files("x.parquet", event_time="x")
        parts = [repr(self.path), f"event_time={self.event_time!r}"]
        said = written(self.path, self.file_format)
        if said:
            parts.append(f"format={said}")
        options = (
            "arrival_time", "time_zone", "continuous", "watermark", "max_files_per_epoch", "max_rejected_share",
        )  # fmt: skip
        parts += [
            f"{name}={getattr(self, name)!r}" for name in options if getattr(self, name) != getattr(default, name)
        ]
        if self.schema:
            parts.append(f"schema={self.said()!r}")
        if self.time_format:
            parts.append(f"time_format={self.time_formats()!r}")
        return f"Files({', '.join(parts)})"


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise DefinitionError(
            f"time_zone={name!r} is not a time zone", hint='use an IANA name such as "UTC"', code="DEFINITION_SOURCE"
        ) from None
