"""What ``run`` refuses before it starts Spark, with the exit status and the code that the documents promise."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from airflow_dataflow_provider.cli.pipelines import load_pipeline
from airflow_dataflow_provider.model.modes import RuntimeMode
from airflow_dataflow_provider.model.pipeline import Pipeline
from airflow_dataflow_provider.model.time import iso
from airflow_dataflow_provider.model.watermarks import WatermarkCurve
from airflow_dataflow_provider.progress.log.log import EpochLog
from airflow_dataflow_provider.progress.ownership import identity
from airflow_dataflow_provider.progress.status.status import read_status
from airflow_dataflow_provider.progress.store.store import Store
from airflow_dataflow_provider.progress.wall import wall_clock
from airflow_dataflow_provider.spark.reduce_side.stage_state import StageState
from airflow_dataflow_provider.spark.running import session
from airflow_dataflow_provider.spark.running.checkpoint import Checkpoint
from airflow_dataflow_provider.spark.running.submit import Submission, run
from airflow_dataflow_provider.spark.running.workers import ThisProcess
from airflow_dataflow_provider.spark.values.frames import schema_from_bytes
from tests.cli.conftest import Run, Said
from tests.progress.samples import NOON, claim, make_identity, plan, record

Module = Callable[[str], Path]

MOMENT = dt.datetime(2013, 1, 1, 12, tzinfo=dt.UTC)
HOUR = 3_600_000_000
AGGREGATE = "group_by_key_and_window(key='user', window=FixedWindows('1h')).combine(total=Sum('amount'))"
BATCH = ("--mode", "batch")


class SparkStartedError(Exception):
    """What must not happen in this file."""


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        raise SparkStartedError

    monkeypatch.setattr(session, "spark_session", start)


def started_spark(said: Said) -> bool:
    return "[INTERNAL_ERROR] SparkStartedError" in said.err


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    folder = tmp_path / "clicks"
    folder.mkdir()
    write_clicks(folder)
    return folder


def write_clicks(folder: Path, **columns: list[object]) -> None:
    rows = {
        "at": [MOMENT],
        "naive": [MOMENT.replace(tzinfo=None)],
        "number": [1],
        "user": ["u"],
        "amount": [1],
        "text": ["x"],
    }
    pl.DataFrame(rows | columns).write_parquet(folder / "part.parquet")


@pytest.fixture
def pipeline(module: Module, clicks: Path) -> str:
    """A pipeline that nothing is wrong with."""
    file = module(f"clicks = {defined(clicks, name='clicks')}")
    return f"{file}:clicks"


def defined(clicks: Path, *, event_time: str = "event_time='at'", then: str = AGGREGATE, name: str = "p") -> str:
    """The code of a pipeline over the clicks."""
    return f"Pipeline({name!r}, Files({str(clicks)!r}, {event_time})).{then}"


def ensure(state: str, pipeline: Pipeline) -> Store:
    """The state that a run of this pipeline would make."""
    store = Store.open(state)
    identity.ensure(
        store,
        name=pipeline.name,
        fingerprint=pipeline.fingerprint(),
        definition=repr(pipeline),
        shape=pipeline.shape(),
        partitions=8,
        now=wall_clock(),
    )
    return store


def test_a_run_that_nothing_is_wrong_with_gets_as_far_as_spark(command: Run, pipeline: str, state: str) -> None:
    assert started_spark(command("run", pipeline, *BATCH, "--state", state))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--mode", "turbo"], "SUBMIT_MODE"),
        ([*BATCH, "--from", "2013-01-01T00:00:00", "--to", "2013-01-02T00:00:00Z"], "TIME_NAIVE"),
        ([*BATCH, "--from", "2013-01-01T00:00:00Z", "--to", "2013-01-02T00:00:00"], "TIME_NAIVE"),
        ([*BATCH, "--from", "yesterday", "--to", "2013-01-02T00:00:00Z"], "TIME_UNPARSABLE"),
        ([*BATCH, "--from", "2013-01-02T00:00:00Z", "--to", "2013-01-01T00:00:00Z"], "SUBMIT_INTERVAL"),
        ([*BATCH, "--from", "2013-01-02T00:00:00Z", "--to", "2013-01-02T00:00:00Z"], "SUBMIT_INTERVAL"),
        ([*BATCH, "--from", "2013-01-01T00:00:00Z"], "SUBMIT_INTERVAL"),
        ([*BATCH, "--to", "2013-01-01T00:00:00Z"], "SUBMIT_INTERVAL"),
        (
            ["--mode", "streaming", "--from", "2013-01-01T00:00:00Z", "--to", "2013-01-02T00:00:00Z"],
            "SUBMIT_INTERVAL_MODE",
        ),
        ([*BATCH, "--input-share", "most"], "SUBMIT_POLICY"),
        ([*BATCH, "--input-share", "0.95"], "SUBMIT_INPUT_SHARE"),
        (["--mode", "streaming", "--input-share", "1"], "SUBMIT_INPUT_SHARE"),
        ([*BATCH, "--shuffle-mode", "fast"], "SUBMIT_POLICY"),
        ([*BATCH, "--shuffle-mode", "ALL_EXCHANGES_PIPELINED"], "SUBMIT_SHUFFLE_MODE"),
        ([*BATCH, "--processing-time-at-end-of-input", "sometimes"], "SUBMIT_POLICY"),
        (["--mode", "micro-batch", "--processing-time-at-end-of-input", "fire"], "SUBMIT_PROCESSING_TIME"),
        ([*BATCH, "--conf", "spark.executor.memory"], "SUBMIT_CONF"),
        ([*BATCH, "--conf", "=2g"], "SUBMIT_CONF"),
        ([*BATCH, "--conf", "dataflow.state.partitions=many"], "SUBMIT_CONF"),
        ([*BATCH, "--conf", "dataflow.state.partitions=0"], "SUBMIT_CONF"),
        ([*BATCH, "--conf", "dataflow.driver.rows=-1"], "SUBMIT_CONF"),
        ([*BATCH, "--conf", "dataflow.retention.rejected=ninety"], "SUBMIT_CONF"),
    ],
)
def test_a_bad_option_is_refused(command: Run, pipeline: str, state: str, arguments: list[str], code: str) -> None:
    said = command("run", pipeline, "--state", state, *arguments)
    assert (said.status, said.code, said.out) == (2, code, "")


def test_what_is_missing_altogether_ends_with_the_same_status(command: Run, pipeline: str) -> None:
    with pytest.raises(SystemExit) as ended:
        command("run", pipeline, *BATCH)
    assert ended.value.code == 2


@pytest.mark.parametrize(
    "reference",
    [
        "clicks",
        ":clicks",
        "{module}:",
        "{module}:nobody",
        "{module}:source",
        "{module}:grouped",
        "nowhere_at_all:clicks",
        "json.nowhere:clicks",
        "/nowhere/at_all.py:clicks",
    ],
)
def test_a_reference_that_leads_to_no_pipeline_is_refused(
    command: Run, module: Module, state: str, reference: str
) -> None:
    file = module(
        "source = Files('x/', event_time='at')\n"
        "grouped = Pipeline('p', source).group_by_key_and_window(key='user', window=FixedWindows('1h'))"
    )
    said = command("run", reference.format(module=file), *BATCH, "--state", state)
    assert (said.status, said.code) == (2, "DEFINITION_NOT_FOUND")
    assert "What to do: " in said.err


def test_a_module_that_has_pipelines_by_other_names_tells_them(command: Run, pipeline: str, state: str) -> None:
    said = command("run", pipeline.replace(":clicks", ":cliks"), *BATCH, "--state", state)
    assert "it has clicks" in said.err


@pytest.mark.parametrize(
    ("definition", "code"),
    [
        (f"Pipeline('p', Files('x/', event_time='at')).{AGGREGATE.replace('1h', '1 fortnight')}", "TIME_BAD_DURATION"),
        ("AtWatermark(101)", "DEFINITION_PERCENTILE"),
        ("Pipeline('p', Files('x/', event_time='at'))", "DEFINITION_INCOMPLETE"),
    ],
)
def test_a_definition_that_means_nothing_is_refused(
    command: Run, module: Module, state: str, definition: str, code: str
) -> None:
    said = command("run", f"{module(f'p = {definition}')}:p", *BATCH, "--state", state)
    assert (said.status, said.code) == (2, code)


@pytest.mark.parametrize(
    ("definition", "code"),
    [
        (("Files('/nowhere/at/all', event_time='at')", AGGREGATE), "SOURCE_NOT_FOUND"),
        (("Files('{clicks}/*.csv', event_time='at')", AGGREGATE), "SOURCE_EMPTY"),
        (("Files('{clicks}', event_time='when')", AGGREGATE), "SOURCE_NO_COLUMN"),
        (("Files('{clicks}', event_time='at', arrival_time='seen')", AGGREGATE), "SOURCE_NO_COLUMN"),
        (("Files('{clicks}', event_time='at')", AGGREGATE.replace("amount", "price")), "SOURCE_NO_COLUMN"),
        (("Files('{clicks}', event_time='naive')", AGGREGATE), "SOURCE_NAIVE_TIME"),
        (("Files('{clicks}', event_time='number')", AGGREGATE), "SOURCE_EVENT_TIME_TYPE"),
        (("Files('{clicks}', event_time='at')", AGGREGATE.replace("amount", "text")), "SUBMIT_COLUMN_TYPE"),
        (("Files('{clicks}', event_time='at', continuous=True)", AGGREGATE), "SUBMIT_UNBOUNDED_BATCH"),
    ],
)
def test_a_source_that_cannot_be_read_as_asked_is_refused(
    command: Run, module: Module, clicks: Path, definition: tuple[str, str], code: str
) -> None:
    source, then = definition
    state = clicks.parent / "state"
    file = module(f"p = Pipeline('p', {source.format(clicks=clicks)}).{then}")
    said = command("run", f"{file}:p", *BATCH, "--state", state)
    assert (said.status, said.code) == (2, code)
    assert not state.exists()


def test_a_naive_time_with_a_zone_is_a_time(command: Run, module: Module, clicks: Path, state: str) -> None:
    times = "event_time='naive', time_zone='UTC'"
    file = module(f"p = {defined(clicks, event_time=times)}")
    assert started_spark(command("run", f"{file}:p", *BATCH, "--state", state))


def test_an_interval_of_the_global_window_is_refused(command: Run, module: Module, clicks: Path, state: str) -> None:
    then = AGGREGATE.replace("FixedWindows('1h')", "GlobalWindows()")
    file = module(f"p = {defined(clicks, then=then)}")
    interval = ("--from", "2013-01-01T00:00:00Z", "--to", "2013-01-02T00:00:00Z")
    said = command("run", f"{file}:p", *BATCH, *interval, "--state", state)
    assert (said.status, said.code) == (2, "SUBMIT_INTERVAL_WINDOW")


def test_processing_time_may_be_forbidden(command: Run, module: Module, clicks: Path, state: str) -> None:
    then = AGGREGATE.replace("window=", "trigger=Repeat(AtPeriod('5m')), window=")
    file = module(f"p = {defined(clicks, then=then)}")
    said = command("run", f"{file}:p", *BATCH, "--no-allow-processing-time", "--state", state)
    assert (said.status, said.code) == (2, "SUBMIT_PROCESSING_TIME")
    assert "AtPeriod('5m')" in said.err


@pytest.mark.parametrize("mode", ["micro-batch", "streaming"])
def test_a_run_that_would_never_publish_is_refused_unless_that_is_accepted(
    command: Run, module: Module, clicks: Path, state: str, mode: str
) -> None:
    then = AGGREGATE.replace("FixedWindows('1h')", "GlobalWindows()")
    accepted = then.replace("GlobalWindows()", "GlobalWindows(), accept=(Risk.MAY_NEVER_FIRE,)")
    file = module(f"p = {defined(clicks, then=then)}\nq = {defined(clicks, then=accepted)}")
    said = command("run", f"{file}:p", "--mode", mode, "--state", state)
    assert (said.status, said.code) == (2, "DEFINITION_MAY_NEVER_FIRE")
    for wanted in (("p", "batch"), ("q", mode)):
        assert started_spark(
            command("run", f"{file}:{wanted[0]}", "--mode", wanted[1], "--state", f"{state}-{wanted[0]}")
        )


def test_the_state_of_another_pipeline_is_left_alone(command: Run, pipeline: str, state: str) -> None:
    make_identity(Store.open(state), name="departures")
    said = command("run", pipeline, *BATCH, "--state", state)
    assert (said.status, said.code) == (3, "STATE_OTHER_PIPELINE")
    assert "'departures'" in said.err
    assert read_status(state).owner is None


def test_a_definition_that_has_changed_says_what_has(command: Run, pipeline: str, state: str) -> None:
    store = Store.open(state)
    shape = load_pipeline(pipeline).shape()
    make_identity(store, name="clicks", shape={**shape, "window": "FixedWindows('5m')"})
    EpochLog(store).plan(plan(0))
    said = command("run", pipeline, *BATCH, "--state", state)
    assert (said.status, said.code) == (3, "STATE_DEFINITION_CHANGED")
    assert "window: FixedWindows('5m') -> FixedWindows('1h')" in said.err


def test_a_first_run_that_failed_pins_nothing(command: Run, module: Module, clicks: Path, state: str) -> None:
    sums = defined(clicks, name="p")
    counts = sums.replace("key='user'", "key='text'").replace("total=Sum('amount')", "n=Count(), last=Max('amount')")
    file = module(f"first = {sums}\nsecond = {counts}")
    assert started_spark(command("run", f"{file}:first", *BATCH, "--state", state))
    write_clicks(clicks, amount=[1.5])
    assert started_spark(command("run", f"{file}:second", *BATCH, "--state", state))
    store = Store.open(state)
    assert identity.pinned_schema(store) is None
    assert sorted(store.list("")) == ["owners", "pipeline.json"]
    run(Submission(load_pipeline(f"{file}:second"), RuntimeMode.BATCH, state, workers=ThisProcess()))
    standing = identity.load(store)
    assert standing is not None
    assert standing.shape == load_pipeline(f"{file}:second").shape()
    assert schema_from_bytes(store.read("schema.arrow"))["amount"] == pl.Float64()
    assert store.read_json("panes/pane_log.json")["key"] == ["text"]
    said = command("run", f"{file}:first", *BATCH, "--state", state)
    assert (said.status, said.code) == (3, "STATE_DEFINITION_CHANGED")


@pytest.mark.parametrize("mode", ["batch", "micro-batch", "streaming"])
def test_a_driver_without_pyspark_says_so(
    mode: str, command: Run, pipeline: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"pyspark", "py4j"}] or ["pyspark"]:
        monkeypatch.setitem(sys.modules, name, None)
    said = command("run", pipeline, "--mode", mode, "--state", state)
    assert (said.status, said.code) == (2, "ENGINE_NO_SPARK")


def test_a_state_in_this_process_memory_is_refused(command: Run, pipeline: str) -> None:
    said = command("run", pipeline, *BATCH, "--state", "memory://state")
    assert (said.status, said.code) == (3, "STATE_FILESYSTEM")


def test_the_driver_that_lives_is_named_and_left_alone(command: Run, pipeline: str, state: str) -> None:
    store = ensure(state, load_pipeline(pipeline))
    driver = claim(store, wall_clock(), run_id="tonight")
    said = command("run", pipeline, *BATCH, "--state", state)
    assert (said.status, said.code) == (4, "OWNER_HELD")
    assert "run 'tonight'" in said.err
    driver.check()


def test_a_driver_that_lives_can_be_fenced(command: Run, pipeline: str, state: str) -> None:
    store = ensure(state, load_pipeline(pipeline))
    claim(store, wall_clock())
    assert started_spark(command("run", pipeline, *BATCH, "--take-over", "--run-id", "mine", "--state", state))
    owner = read_status(state).owner
    assert owner is not None
    assert (owner.token, owner.run_id, owner.state) == (2, "mine", "failed")


def test_windows_that_a_stream_still_owns_are_not_recomputed(command: Run, pipeline: str, state: str) -> None:
    store = ensure(state, load_pipeline(pipeline))
    stages = (StageState.empty(1),)
    after = Checkpoint(stages, NOON, 1.0, sent=None, observed=None, delays=None, state_bytes=0, read_splits=None)
    EpochLog(store).commit(record(0, published=WatermarkCurve.flat(NOON), checkpoint=after.to_json()))
    arguments = ("run", pipeline, *BATCH, "--state", state, "--from", iso(NOON - HOUR))
    said = command(*arguments, "--to", iso(NOON + HOUR))
    assert (said.status, said.code) == (3, "STATE_WINDOWS_OPEN")
    assert started_spark(command(*arguments, "--to", iso(NOON)))


def test_the_pane_log_of_another_state_is_left_alone(
    command: Run, module: Module, clicks: Path, tmp_path: Path, state: str
) -> None:
    sink = f"write(PaneLog({str(tmp_path / 'log')!r}))"
    file = module(f"p = {defined(clicks, then=f'{AGGREGATE}.{sink}')}")
    run(Submission(load_pipeline(f"{file}:p"), RuntimeMode.BATCH, state, workers=ThisProcess()))
    said = command("run", f"{file}:p", *BATCH, "--state", f"{state}-2")
    assert (said.status, said.code) == (3, "STATE_PANES_OWNED")
    assert state in said.err


def test_machines_get_the_error_as_one_object(command: Run, pipeline: str, state: str) -> None:
    said = command("run", pipeline, "--mode", "turbo", "--state", state, "--json")
    assert said.status == 2
    assert said.json()["error"] == said.code == "SUBMIT_MODE"
    assert "batch, micro-batch, streaming, automatic" in said.json()["hint"]
