"""What each runtime mode does with a pipeline, in words."""

from __future__ import annotations

from collections.abc import Callable

from airflow_dataflow_provider.model.errors import SubmissionError
from airflow_dataflow_provider.model.modes import Boundedness, RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.proofs import never_fires_in_a_stream
from airflow_dataflow_provider.model.risk import Risk
from airflow_dataflow_provider.model.sources import Files
from airflow_dataflow_provider.model.windows import GlobalWindows


def modes(pipeline: Pipeline) -> list[str]:
    """What each runtime mode does with this source."""
    source = pipeline.source
    limit = source.max_files_per_epoch if isinstance(source, Files) else None
    each = "all new files in one epoch" if limit is None else f"new files in epochs of {limit} at most"
    micro_batch = (
        f"{each}; then, if a watermark has moved, a window is due or a signal was raised, an epoch of the clock alone, "
        "so that what is complete by now is published by this run. Then it ends, and keeps its state."
    )
    streaming = (
        f"{each}, looked for every half second; in quiet moments an epoch of the clock alone, if a watermark has "
        "moved, a window is due or a signal was raised. It runs until it is stopped; with --drain it reads what is "
        "there and fires every open window first."
    )
    stuck = _stuck(pipeline)
    return [
        f"batch: {_batch(pipeline)}",
        f"batch with --from and --to: {_interval(pipeline)}",
        f"micro-batch: {stuck or micro_batch}",
        f"streaming: {stuck or streaming}",
        f"automatic: {_automatic(pipeline)}",
    ]


def _batch(pipeline: Pipeline) -> str:
    source = pipeline.source
    refused = refusal(lambda: RuntimeMode.BATCH.resolve(source.boundedness, has_interval=False))
    if refused:
        return f"is refused without an interval ({refused.code}): {refused.what}."
    stays = " Windows stay open by the estimate, so that a later run can go on."
    return (
        "new files in one epoch, however many; then an epoch at the end of input, where every watermark counts as "
        f"infinite and every open window fires.{'' if _is_global(pipeline) else stays}"
    )


def _interval(pipeline: Pipeline) -> str:
    if _is_global(pipeline):
        return "is refused (SUBMIT_INTERVAL_WINDOW): the global window ends in no interval."
    return (
        "one epoch over all files. It computes the windows that end after --from and not after --to anew, and "
        "replaces what stood there. Nothing is late or expired, no state or watermark changes. Windows that an "
        "incremental run still owns are refused (STATE_WINDOWS_OPEN)."
    )


def _automatic(pipeline: Pipeline) -> str:
    boundedness = pipeline.source.boundedness
    mode = RuntimeMode.AUTOMATIC.resolve(boundedness, has_interval=False)
    other = (
        "; batch where an interval is given."
        if boundedness is Boundedness.UNBOUNDED
        else "; Files(..., continuous=True) would make it streaming."
    )
    return f"{mode.value}, for the source is {boundedness.value}{other}"


def _stuck(pipeline: Pipeline) -> str | None:
    """Why a run that follows its source is refused."""
    for grouping in pipeline.groupings:
        reason = never_fires_in_a_stream(grouping)
        if reason is not None and Risk.MAY_NEVER_FIRE not in grouping.accept:
            return f"is refused (DEFINITION_MAY_NEVER_FIRE), unless the risk is accepted: {reason}."
    return None


def _is_global(pipeline: Pipeline) -> bool:
    return isinstance(pipeline.grouping.window, GlobalWindows)


def refusal(check: Callable[[], object]) -> SubmissionError | None:
    """What a check raises."""
    try:
        check()
    except SubmissionError as error:
        return error
    return None
