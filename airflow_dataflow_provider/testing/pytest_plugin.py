"""The pytest plugin: fixtures for tests of users' pipelines. pytest loads it where the package is installed.

* ``dataflow_stream``: makes a :class:`~airflow_dataflow_provider.testing.stream.TestStream` that runs on the engine
  below.
* ``dataflow_engine``: the name of an engine. The test runs once on each that is asked for by ``--dataflow-engine``
  (repeatable; ``all`` for every one), else by the ini option ``dataflow_engines``, else on the reference alone.
* ``dataflow_spark``: a local Spark session, started once, by the first test that needs it, and stopped at the end.
* ``dataflow_clock``: a :class:`~airflow_dataflow_provider.testing.clock.HandDrivenClock`.

Modules are imported only for tests that use these fixtures.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from airflow_dataflow_provider.model.pipeline import Pipeline
    from airflow_dataflow_provider.testing.clock import HandDrivenClock
    from airflow_dataflow_provider.testing.stream import TestStream

_ENGINE = "dataflow_engine"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--dataflow-engine`` on the command line, ``dataflow_engines`` in the ini file."""
    what = "an engine for tests that use dataflow_engine or dataflow_stream, or 'all'"
    parser.getgroup("dataflow").addoption("--dataflow-engine", action="append", metavar="ENGINE", help=what)
    parser.addini("dataflow_engines", f"{what}; several, separated by blanks", type="args", default=["reference"])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run the test on each engine, unless the test names its engines itself."""
    named = (mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    names = [name.strip() for given in named for name in (given.split(",") if isinstance(given, str) else given)]
    if _ENGINE in metafunc.fixturenames and _ENGINE not in names:
        metafunc.parametrize(_ENGINE, _engines(metafunc.config), indirect=True)


def _engines(config: pytest.Config) -> list[str]:
    from airflow_dataflow_provider.model.errors import SubmissionError
    from airflow_dataflow_provider.testing.engines import engine_named, engine_names

    asked: list[str] = config.getoption("--dataflow-engine") or config.getini("dataflow_engines")
    if "all" in asked:
        return list(engine_names())
    try:
        for name in asked:
            engine_named(name)
    except SubmissionError as error:
        raise pytest.UsageError(str(error)) from None
    return list(dict.fromkeys(asked))


@pytest.fixture
def dataflow_engine(request: pytest.FixtureRequest) -> str:
    """The name of the engine on which this test runs."""
    name: str = request.param
    if name != "reference":
        request.getfixturevalue("dataflow_spark")
    return name


@pytest.fixture
def dataflow_stream(dataflow_engine: str) -> Callable[..., TestStream]:
    """Makes streams that run on the test's engine: ``dataflow_stream(pipeline)``, with ``TestStream``'s options."""
    from airflow_dataflow_provider.testing.stream import TestStream

    def stream(pipeline: Pipeline, **options: Any) -> TestStream:  # noqa: ANN401 - TestStream's own
        return TestStream(pipeline, **{"engine": dataflow_engine, **options})

    return stream


@pytest.fixture
def dataflow_clock() -> HandDrivenClock:
    """Processing time at midnight of 2013-01-01, until the test moves it."""
    from airflow_dataflow_provider.testing.clock import HandDrivenClock

    return HandDrivenClock()


@pytest.fixture(scope="session")
def dataflow_spark() -> Iterator[SparkSession]:
    """A local Spark session with two threads, in UTC; where one runs already, a session on that."""
    from airflow_dataflow_provider.testing.spark_engines import local_spark, spark_runs

    ours = not spark_runs()
    session = local_spark()
    yield session
    if ours:
        # py4j logs while Python shuts down, to a stream that pytest has closed.
        logging.getLogger("py4j").setLevel(logging.WARNING)
        session.stop()
