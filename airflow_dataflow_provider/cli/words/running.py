"""Running a pipeline, in words: watermarks, epochs, and what becomes of odd rows."""

from __future__ import annotations

from collections.abc import Callable

from airflow_dataflow_provider.cli.words.answers import takes_back
from airflow_dataflow_provider.cli.words.combiners import kept, kept_under_retraction
from airflow_dataflow_provider.cli.words.modes import refusal
from airflow_dataflow_provider.cli.words.plain import mark, series
from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.grouping import Grouping
from airflow_dataflow_provider.model.par_do import SparkColumns, Vectorised
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.time import duration_text
from airflow_dataflow_provider.model.watermark_policies import BoundedDelay
from airflow_dataflow_provider.model.watermarks import percentile_text
from airflow_dataflow_provider.model.windows import GlobalWindows, SessionWindows, SlidingWindows


def watermarks(pipeline: Pipeline) -> list[str]:
    """How the watermarks are estimated, which are looked at, which are published."""
    asked = frozenset({100.0}).union(*(grouping.trigger.percentiles() for grouping in pipeline.groupings))
    published = (
        f"Looked at: {series(mark(percentile) for percentile in sorted(asked))}. What is ON_TIME, late or expired is "
        "W_100's to say, whatever the trigger looks at. "
        f"Published: {', '.join(map(percentile_text, pipeline.percentiles()))}."
    )
    if pipeline.source.has_perfect_watermark:
        return ["Every W_p is the processing time of the epoch: elements happen when they are read.", published]
    policy = pipeline.source.watermark
    idle = (
        "While nothing arrives every watermark stands still, however long (idle_after is not set)."
        if policy.idle_after is None
        else f"Once nothing has arrived for {duration_text(policy.idle_after)} the watermarks move on with the clock."
    )
    if isinstance(policy, BoundedDelay):
        bounded = f"Every W_p is the greatest event time that was read, less {duration_text(policy.bound)}."
        wrong = (
            f"An element that happened more than {duration_text(policy.longest_lead)} after its arrival, or with an "
            "arrival in the future, has a wrong clock: it is processed, but moves no watermark."
        )
        return [bounded, published, wrong, idle]
    estimate = (
        "W_p is the newest arrival that was read, less the delay (arrival minus event time) within which p % of the "
        "elements came: the largest such delay over the arrivals of the last "
        f"{series(map(duration_text, policy.horizons))}, each looking back up to twice as far."
    )
    wrong = (
        f"An element with a delay beyond {duration_text(policy.plausible)}, either way, or with an arrival in the "
        "future has a wrong clock: it is processed, but moves no watermark."
    )
    return [estimate, published, wrong, idle]


def epoch(pipeline: Pipeline) -> list[str]:
    """The steps of an epoch on the Spark engine."""
    from airflow_dataflow_provider.spark.running.submit import PARTITIONS_CONF  # noqa: PLC0415 - brings polars

    clock = (
        "Clock: processing time, watermarks and signals are written to the epoch log before anything runs; a replay "
        "reads them."
    )
    reads = "all columns" if pipeline.groupings[0].reads() is None else "only the columns named above"
    map_side = (
        f"Map side: a task reads its files, {reads}; sets rejected rows{_judged(pipeline.groupings[0])} aside; and "
    )
    shuffle = (
        f"Shuffle: what is left goes to the state partition of its key (as many as the state was made with: one a "
        f"core of a local master, eight on a cluster, or --conf {PARTITIONS_CONF}=N)."
    )
    commit = (
        "Commit: panes and changed windows are in new files by now; they count once they are committed, all or none."
    )
    again = [
        f"Grouping {number + 1}: the results of the one before are sent on within the workers by "
        f"{series(grouping.key)}, under a watermark that has waited for them; then its own kernel."
        for number, grouping in enumerate(pipeline.groupings)
        if number
    ]
    return [clock, map_side + _sent(pipeline), shuffle, _kernel(pipeline.groupings[0]), *again, commit]


def _judged(grouping: Grouping) -> str:
    late_later = grouping.window.merges or isinstance(grouping.window, GlobalWindows)
    return "" if late_later else " and elements of expired windows"


def _takes_elements(grouping: Grouping) -> bool:
    own_way = grouping.window.merges and not isinstance(grouping.window, SessionWindows)
    return grouping.trigger.looks_at_elements or own_way


def _sent(pipeline: Pipeline) -> str:
    grouping = pipeline.groupings[0]
    if _takes_elements(grouping):
        return "sends the elements on as they are, for the trigger or the windows look at each, in arrival order."
    how = kept_under_retraction if takes_back(pipeline, 0) else kept
    kinds = series(f"{name} ({how(combiner)})" for name, combiner in grouping.combiners.items())
    if isinstance(grouping.window, SlidingWindows):
        unit = f"slice of {duration_text(grouping.window.slice)}, which the partition copies into its windows"
    elif grouping.window.merges:
        unit = "session that they make among themselves"
    else:
        unit = "window"
    return (
        f"combines the rest to one row for each key and {unit}, of {kinds}. Where the epoch before had nearly as many "
        "keys and windows as rows it does not combine them: that would not pay."
    )


def _kernel(grouping: Grouping) -> str:
    if _takes_elements(grouping):
        return (
            f"Kernel: one call for each state partition {_through(grouping)}; at the end it asks about clocks, and "
            "drops the windows that have expired."
        )
    merged = "sets aside what has expired, merges sessions, " if grouping.window.merges else ""
    return (
        f"Kernel: one call for each state partition folds them into its open windows, {merged}asks the trigger about "
        "all of these at once, reads the panes off, and drops the windows that have expired."
    )


def _through(grouping: Grouping) -> str:
    if grouping.window.merges:
        return "sets aside what has expired and takes the first element of every key, then the second, and so on"
    return "takes all of its windows through their elements together, from one firing of each to its next"


def odd_rows(pipeline: Pipeline) -> list[str]:
    """What may be late, expired or rejected, and where it goes."""
    source, several = pipeline.source, len(pipeline.groupings) > 1
    lines: list[str] = []
    for number, grouping in enumerate(pipeline.groupings):
        lines += [f"{f'Grouping {number + 1}, ' if several else ''}{line}" for line in _too_late(pipeline, grouping)]
    lines = [line[0].upper() + line[1:] for line in lines]
    times = source.columns()
    bad_time = f"whose {' or '.join(times)} is null or not a time, or " if times else ""
    rejected = (
        f"Rejected: a row {bad_time}with a value that does not read as the type of its column. It is in rejected/ "
        "under the state URL, whole, with its file and the reason, and is counted."
    )
    share = source.max_rejected_share if isinstance(source, Files) else None
    limit = (
        "However many are rejected, the run goes on (max_rejected_share is not set)."
        if share is None
        else f"Where they are more than {share * 100:g} % of an epoch's rows the run fails (DATA_REJECTED)."
    )
    return [*lines, rejected, limit]


def _too_late(pipeline: Pipeline, grouping: Grouping) -> list[str]:
    if isinstance(grouping.window, GlobalWindows):
        return ["late or expired: nothing, for the global window is not complete before the end of input."]
    if pipeline.source.has_perfect_watermark and grouping is pipeline.groupings[0]:
        return ["late or expired: nothing, for elements happen when they are read."]
    late = (
        f"late: an element whose window is complete by less than {duration_text(grouping.allowed_lateness)}. It is "
        "counted as late, and is part of its window like any other."
        if grouping.allowed_lateness
        else "late: nothing, for without allowed lateness a window expires at the moment at which it is complete."
    )
    expired = (
        "expired: an element whose window has expired. It is in no pane, but in expired/ under the state URL "
        "with its window, the watermark and its delay, and is counted."
    )
    return [late, expired]


def lost(pipeline: Pipeline) -> list[str]:
    """What may be lost, and why nothing is."""
    kept_somewhere = (
        "Nothing that was read: it is in a pane, in the state of an open window, in expired/ or in rejected/, and "
        "after a crash the epoch is finished as it was planned."
    )
    lines = [kept_somewhere]
    if any(isinstance(step, SparkColumns) and step.where for step in pipeline.par_dos()):
        lines.append("Except what a condition of a step leaves out: that is the user's choice, and counted nowhere.")
    for number, grouping in enumerate(pipeline.groupings):
        whose = f"Grouping {number + 1}: " if len(pipeline.groupings) > 1 else ""
        reason = grouping.trigger.may_lose_data()
        if reason is not None and isinstance(grouping.window, GlobalWindows):
            lines.append(
                f"{whose}But {reason}. The global window never closes: such elements stay in its state, unpublished."
            )
        elif reason is not None:
            lines.append(
                f"{whose}By itself the trigger could: {reason}. The closing pane publishes them when the window "
                "expires."
            )
    if isinstance(pipeline.source, Files):
        lines.append(
            "A file is read once, as it is when it is first seen, and again only by a batch over an interval. Write it "
            "elsewhere, and rename it when it is whole."
        )
    return lines


def refusals(pipeline: Pipeline) -> list[SubmissionError]:
    """Why the Spark engine would not run the definition, in whatever mode."""
    from airflow_dataflow_provider.spark.running.submit import check_plan  # noqa: PLC0415 - brings polars
    from airflow_dataflow_provider.spark.tasks.user_code import check_named  # noqa: PLC0415

    checks: list[Callable[[], object]] = [lambda: check_plan(pipeline, None), lambda: check_named(pipeline)]
    found = [error for check in checks if (error := refusal(check))]
    return found or _of_stages(pipeline)


def _of_stages(pipeline: Pipeline) -> list[SubmissionError]:
    """What the engine says about combiners and triggers, where the types of columns cannot matter."""
    import polars as pl  # noqa: PLC0415 - only this needs it

    from airflow_dataflow_provider.spark.stages.stages import Stages  # noqa: PLC0415

    # Only files say which types the columns have, and a step in frames may ask for others than these.
    first = pipeline.groupings[0].reads()
    if first is None or any(isinstance(step, Vectorised) for step in pipeline.par_dos()):
        return []
    numbers: dict[str, pl.DataType] = dict.fromkeys((*first, *pipeline.input_columns()), pl.Int64())
    try:
        error = refusal(lambda: Stages.of(pipeline, numbers))
    except pl.exceptions.PolarsError:  # an expression of the user's on another type: submission asks the file
        return []
    return [error] if error is not None and error.code.startswith("ENGINE_") else []
