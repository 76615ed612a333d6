"""The share of rejected rows that a source allows, and what is told where there are more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import polars as pl

from airflow_dataflow_provider.model.errors import DataError, DataflowError
from airflow_dataflow_provider.model.sources import Source
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.store.written_file import WrittenFile
from airflow_dataflow_provider.progress.upkeep.set_aside import REJECTED_FOLDER
from airflow_dataflow_provider.spark.map_side.map_report import MapReport
from airflow_dataflow_provider.spark.values.frames import read_parquet

_LOOKED_INTO: Final = 8
"""Files of rejected rows that are read for the message."""
_TOLD: Final = 3
"""Reasons that a message names."""


def refuse_too_many(source: Source, report: MapReport, store: Store, *, all_are_too_many: bool) -> None:
    """Refuse an epoch with more malformed rows than its source allows.

    Such an epoch is not committed, so readers of side outputs do not see its rows: the message says what is wrong.

    Args:
        source: says which share is allowed.
        report: what the epoch has read.
        store: where the rows are.
        all_are_too_many: where the source allows no share in particular, refuse an epoch without a single good row.

    Raises:
        DataError: ``DATA_REJECTED``.
    """
    limit: float | None = getattr(source, "max_rejected_share", None)
    read, rejected = report.rows.read, report.rows.rejected
    if limit is None:
        is_refused = all_are_too_many and rejected > 0 and not report.accepted
        rows = f"all {rejected} rows were rejected"
    else:
        is_refused = rejected > limit * read
        rows = f"{rejected} of {read} rows were rejected, more than the allowed share of {limit:g}"
    if not is_refused:
        return
    files = report.rejected_files
    found = _reasons(store, files[:_LOOKED_INTO])
    where = store.child(f"{REJECTED_FOLDER}/{files[0].name}") if files else "no file"
    named = "; ".join(f"{reason} ({count} in {file})" for (reason, file), count in found.most_common(_TOLD))
    raise DataError(
        f"{rows}: {named}" if named else rows,
        reason="so many malformed rows mean that the source, or the pipeline's description of it, is wrong",
        hint="correct the files, or the pipeline's Files(...) (then with a new state URL), or allow it with "
        "Files(max_rejected_share=1). SideOutputs does not show rows of an epoch that is not committed; the first of "
        f"these are in {where} until a run clears them away",
        code="DATA_REJECTED",
    )


def _reasons(store: Store, files: Sequence[WrittenFile]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for each in files:
        try:
            rows = read_parquet(store, REJECTED_FOLDER, each).group_by("_reason", "_file").len()
        except (DataflowError, OSError, pl.exceptions.PolarsError):
            continue  # the refusal itself must not fail of what would only explain it
        for reason, file, count in rows.iter_rows():
            found[reason, file] += count
    return found
