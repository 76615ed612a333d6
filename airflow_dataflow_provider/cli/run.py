"""``run``: run a pipeline in one of its modes."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from airflow_dataflow_provider.cli.failures import as_dataflow_error
from airflow_dataflow_provider.cli.run_report import AsJson, AsText
from airflow_dataflow_provider.model.batch import BatchPolicies, ProcessingTimeAtEndOfInput, ShuffleMode
from airflow_dataflow_provider.model.errors import EngineError, SubmissionError
from airflow_dataflow_provider.model.interval import Interval
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.time import to_micros
from airflow_dataflow_provider.progress.status.status import read_status


def add_to(commands: Any) -> None:  # noqa: ANN401 - argparse has no public name for it
    """Add the command."""
    parser = commands.add_parser("run", help="run a pipeline", description=__doc__)
    parser.add_argument("pipeline", metavar="MODULE:ATTRIBUTE", help="the pipeline; MODULE may be a path to a .py file")
    parser.add_argument("--mode", required=True, help=" | ".join(mode.value for mode in RuntimeMode))
    parser.add_argument("--state", required=True, metavar="URL", help="where the state and the progress are")
    parser.add_argument("--from", dest="begin", metavar="T", help="batch: windows that end after this time ...")
    parser.add_argument("--to", dest="end", metavar="T", help="... up to and with this time (ISO 8601 with an offset)")
    add_policies_to(parser)
    parser.add_argument("--master", help="Spark's master; by default spark-submit's, or local[*]")
    parser.add_argument("--conf", action="append", default=[], metavar="K=V", help="a setting for Spark; repeatable")
    parser.add_argument("--run-id", help="a name for this run")
    parser.add_argument("--take-over", action="store_true", help="fence the driver that has the pipeline now")
    parser.add_argument("--json", action="store_true", help="one JSON object an epoch instead of text")
    parser.add_argument("--verbose", action="store_true", help="a line for every epoch, and what Java and Spark print")
    parser.add_argument(
        "--error-file", metavar="PATH", help="where to leave the error as a JSON object if the run fails"
    )
    parser.set_defaults(call=call)


def add_policies_to(parser: argparse.ArgumentParser) -> None:
    """Add what a run does at the end of a bounded input, and before."""
    parser.add_argument(
        "--input-share",
        metavar="SHARE",
        help="batch: publish once this share of the input's bytes (0.95) is read, and leave out the rest",
    )
    parser.add_argument(
        "--processing-time-at-end-of-input",
        metavar="POLICY",
        help=f"what becomes of triggers that wait for a processing time: {' | '.join(ProcessingTimeAtEndOfInput)}",
    )
    parser.add_argument(
        "--allow-processing-time",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether the plan may look at processing time (default: yes)",
    )
    parser.add_argument("--shuffle-mode", metavar="MODE", default="automatic", help=" | ".join(ShuffleMode))


def call(options: argparse.Namespace) -> int:
    """Check everything that can be checked without Spark, then run."""
    from airflow_dataflow_provider.cli.pipelines import defined_at, load_pipeline  # noqa: PLC0415 - not for --help

    if options.error_file is not None:
        with suppress(OSError):  # whatever is wrong with the path is told where there is an error to leave there
            Path(options.error_file).unlink(missing_ok=True)
    mode = RuntimeMode.parse(options.mode)
    interval = _interval(options.begin, options.end)
    policies = BatchPolicies(
        options.processing_time_at_end_of_input,
        allow_processing_time=options.allow_processing_time,
        shuffle_mode=options.shuffle_mode,
        input_share=options.input_share,
    )
    conf = dict(_setting(text) for text in options.conf)
    pipeline = load_pipeline(options.pipeline)

    from airflow_dataflow_provider.spark.running.submit import Submission, run  # noqa: PLC0415 - heavy

    stopping = threading.Event()

    tell = AsJson() if options.json else AsText(pipeline.name, verbose=options.verbose)
    with ExitStack() as ending:
        ending.enter_context(defined_at(options.pipeline))
        spark_log = None if options.verbose or _under_spark_submit() else ending.enter_context(_kept_on_failure())

        def on_start(mode: RuntimeMode, spark: Any) -> None:  # noqa: ANN401 - a session
            # Its workers end in order, before the JVM goes away under them.
            ending.callback(_stop, spark)
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopping.set())
            tell.started(mode, spark.sparkContext.applicationId)

        ending.enter_context(tell)
        asked = {"run_id": options.run_id} if options.run_id else {}
        run(
            Submission(
                pipeline,
                mode,
                options.state,
                interval,
                master=_master(options.master),
                conf=conf,
                take_over=options.take_over,
                policies=policies,
                on_epoch=tell.epoch,
                on_start=on_start,
                spark_log=spark_log,
                **asked,
            ),
            stopping,
        )
        tell.ended(read_status(options.state))
    return 0


def _under_spark_submit() -> bool:
    """Whether Spark's JVM started this process: it prints where it prints."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


@contextmanager
def _kept_on_failure() -> Iterator[Path]:
    """A file for what Java and Spark print. It is kept only where they, the machine or this package have failed."""
    handle, name = tempfile.mkstemp(prefix="dataflow-spark-", suffix=".log")
    os.close(handle)
    path = Path(name)
    py4j = logging.getLogger("py4j")
    level = py4j.level
    py4j.setLevel(logging.CRITICAL)  # a JVM that has ended is told of once, with a code
    is_kept = False
    try:
        yield path
    except BaseException as error:
        is_kept = as_dataflow_error(error).exit_code == EngineError.exit_code and path.stat().st_size > 0
        if is_kept:
            error.add_note(f"Spark's log: {path}")
        raise
    finally:
        py4j.setLevel(level)
        if not is_kept:
            path.unlink()


def _stop(spark: Any) -> None:  # noqa: ANN401 - a session
    with suppress(Exception):  # a JVM that has ended already cannot be asked to; the run's own error is what counts
        spark.stop()


def _interval(begin: str | None, end: str | None) -> Interval | None:
    if begin is None and end is None:
        return None
    if begin is None or end is None:
        raise SubmissionError(
            f"{'--to' if begin is None else '--from'} was given alone",
            reason="half an interval would silently mean everything before or after it",
            hint="give both --from and --to",
            code="SUBMIT_INTERVAL",
        )
    return Interval(to_micros(begin, what="--from"), to_micros(end, what="--to"))


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise SubmissionError(f"--conf {text!r} is not of the form NAME=VALUE", code="SUBMIT_CONF")
    return name, value


def _master(asked: str | None) -> str | None:
    # spark-submit has told the JVM its master, and started us with the port of its gateway.
    return asked if asked is not None or _under_spark_submit() else "local[*]"
