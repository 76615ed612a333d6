"""Running a pipeline, in words: watermarks, epochs, runtime modes, and what becomes of odd rows."""

from __future__ import annotations

from collections.abc import Callable

from airflow_dataflow_provider.cli.words.answers import series
from airflow_dataflow_provider.cli.words.triggers import mark
from airflow_dataflow_provider.model.combiners import Combiner, Count, Max, Mean, Min, Sum
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.modes import Boundedness, RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import duration_text
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.model.windows import GlobalWindows


def watermarks(pipeline: Pipeline) -> list[str]:
    """How the watermarks are estimated, which are looked at, which are published."""
    policy = pipeline.source.watermark
    looked_at = series(mark(p) for p in sorted(pipeline.grouping.trigger.percentiles() | {100.0}))
    estimate = (
        "W_p is the newest arrival that was read, less the delay (arrival minus event time) within which p % of the "
        "elements came: the largest such delay over the arrivals of the last "
        f"{series(map(duration_text, policy.horizons))}, each looking back up to twice as far."
    )
    published = (
        f"Looked at: {looked_at}. What is ON_TIME, late or expired is W_100's to say, whatever the trigger looks at. "
        f"Published: {', '.join(map(percentile_text, pipeline.percentiles()))}."
    )
    wrong = (
        f"An element with a delay beyond {duration_text(policy.plausible)}, either way, or with an arrival in the "
        "future has a wrong clock: it is processed, but moves no watermark."
    )
    idle = (
        "While nothing arrives every watermark stands still, however long (idle_after is not set)."
        if policy.idle_after is None
        else f"Once nothing has arrived for {duration_text(policy.idle_after)} the watermarks move on with the clock."
    )
    return [estimate, published, wrong, idle]


def epoch(pipeline: Pipeline) -> list[str]:
    """The steps of an epoch on the Spark engine."""
    from airflow_dataflow_provider.spark.submit import PARTITIONS_CONF  # noqa: PLC0415 - brings polars

    kept = series(f"{name} ({_kept(combiner)})" for name, combiner in pipeline.grouping.combiners.items())
    clock = (
        "Clock: processing time and watermarks are written to the epoch log before anything runs; a replay reads them."
    )
    map_side = (
        "Map side: a task reads its files, only the columns named above; sets rejected rows and elements of expired "
        f"windows aside; and combines the rest to one row for each key and window, of {kept}. Where the epoch before "
        "had nearly as many keys and windows as rows it does not combine them: that would not pay."
    )
    shuffle = (
        f"Shuffle: what is left goes to the state partition of its key (as many as the state was made with: one a "
        f"core of a local master, eight on a cluster, or --conf {PARTITIONS_CONF}=N)."
    )
    kernel = (
        "Kernel: one call for each state partition folds them into its open windows, asks the trigger about all of "
        "these at once, reads the panes off, and drops the windows that have expired."
    )
    commit = (
        "Commit: panes and changed windows are in new files by now; they count once they are committed, all or none."
    )
    return [clock, map_side, shuffle, kernel, commit]


def _kept(combiner: Combiner) -> str:
    match combiner:
        case Count():
            return "a count"
        case Sum():
            return "a sum"
        case Mean():
            return "a sum and a count"
        case Min() | Max():
            return "a value"
        case _:
            return "its accumulator"


def odd_rows(pipeline: Pipeline) -> list[str]:
    """What may be late, expired or rejected, and where it goes."""
    grouping, source = pipeline.grouping, pipeline.source
    if isinstance(grouping.window, GlobalWindows):
        lines = ["Late or expired: nothing, for the global window is not complete before the end of input."]
    else:
        late = (
            f"Late: an element whose window is complete by less than {duration_text(grouping.allowed_lateness)}. It is "
            "counted as late, and is part of its window like any other."
            if grouping.allowed_lateness
            else "Late: nothing, for without allowed lateness a window expires at the moment at which it is complete."
        )
        expired = (
            "Expired: an element whose window has expired. It is in no pane, but in expired/ under the state URL "
            "with its window, the watermark and its delay, and is counted."
        )
        lines = [late, expired]
    rejected = (
        f"Rejected: a row whose {' or '.join(source.columns())} is null or not a time, or with a value that does "
        "not read as the type of its column. It is in rejected/ under the state URL, whole, with its file and the "
        "reason, and is counted."
    )
    share = source.max_rejected_share if isinstance(source, Files) else None
    limit = (
        "However many are rejected, the run goes on (max_rejected_share is not set)."
        if share is None
        else f"Where they are more than {share * 100:g} % of an epoch's rows the run fails (DATA_REJECTED)."
    )
    return [*lines, rejected, limit]


def lost(pipeline: Pipeline) -> list[str]:
    """What may be lost, and why nothing is."""
    kept = (
        "Nothing that was read: it is in a pane, in the state of an open window, in expired/ or in rejected/, and "
        "after a crash the epoch is finished as it was planned."
    )
    lines = [kept]
    reason = pipeline.grouping.trigger.may_lose_data()
    if reason is not None and isinstance(pipeline.grouping.window, GlobalWindows):
        lines.append(f"But {reason}. The global window never closes: such elements stay in its state, unpublished.")
    elif reason is not None:
        lines.append(f"By itself the trigger could: {reason}. The closing pane publishes them when the window expires.")
    if isinstance(pipeline.source, Files):
        lines.append(
            "A file is read once, as it is when it is first seen, and again only by a batch over an interval. Write it "
            "elsewhere, and rename it when it is whole."
        )
    return lines


def modes(pipeline: Pipeline) -> list[str]:
    """What each runtime mode does with this source."""
    source = pipeline.source
    unbounded, is_global = (
        source.boundedness is Boundedness.UNBOUNDED,
        isinstance(pipeline.grouping.window, GlobalWindows),
    )
    limit = source.max_files_per_epoch if isinstance(source, Files) else None
    each = "all new files in one epoch" if limit is None else f"new files in epochs of {limit} at most"
    refused = refusal(lambda: RuntimeMode.BATCH.resolve(source.boundedness, has_interval=False))
    batch = (
        f"is refused without an interval ({refused.code}): {refused.what}."
        if refused
        else "new files in one epoch, however many; then an epoch at the end of input, where every watermark counts as "
        "infinite and every open window fires."
        + ("" if is_global else " Windows stay open by the estimate, so that a later run can go on.")
    )
    interval = (
        "is refused (SUBMIT_INTERVAL_WINDOW): the global window ends in no interval."
        if is_global
        else "one epoch over all files. It computes the windows that end after --from and not after --to anew, and "
        "replaces what stood there. Nothing is late or expired, no state or watermark changes. Windows that an "
        "incremental run still owns are refused (STATE_WINDOWS_OPEN)."
    )
    micro_batch = (
        f"{each}; then, if a watermark has moved or a window is due, an epoch of the clock alone, so that what is "
        "complete by now is published by this run. Then it ends, and keeps its state."
    )
    streaming = (
        f"{each}, looked for every half second; in quiet moments an epoch of the clock alone, if a watermark has moved "
        "or a window is due. It runs until it is stopped; with --drain it reads what is there and fires every open "
        "window first."
    )
    automatic = RuntimeMode.AUTOMATIC.resolve(source.boundedness, has_interval=False).value
    because = f"{automatic}, for the source is {source.boundedness.value}" + (
        "; batch where an interval is given." if unbounded else "; Files(..., continuous=True) would make it streaming."
    )
    return [
        f"batch: {batch}",
        f"batch with --from and --to: {interval}",
        f"micro-batch: {micro_batch}",
        f"streaming: {streaming}",
        f"automatic: {because}",
    ]


def refusals(pipeline: Pipeline) -> list[SubmissionError]:
    """Why the Spark engine would not run the definition, in whatever mode."""
    import polars as pl  # noqa: PLC0415 - only this needs it

    from airflow_dataflow_provider.spark.stages import Stages  # noqa: PLC0415
    from airflow_dataflow_provider.spark.submit import check_plan  # noqa: PLC0415

    # Only files say which types the columns have. With numbers, everything works that the engine knows at all.
    first = pipeline.groupings[0]
    numbers: dict[str, pl.DataType] = dict.fromkeys(first.reads() or first.input_columns(), pl.Int64())
    checks: list[Callable[[], object]] = [lambda: check_plan(pipeline, None)]
    if first.reads() is not None:
        checks.append(lambda: Stages.of(pipeline, numbers))
    return [error for check in checks if (error := refusal(check))]


def refusal(check: Callable[[], object]) -> SubmissionError | None:
    """What a check raises."""
    try:
        check()
    except SubmissionError as error:
        return error
    return None
