"""What Spark raises gets a code by what kind of error it is, and never by what its text contains."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from airflow_dataflow_provider import DataError, DataflowError, EngineError, StateError
from airflow_dataflow_provider.spark.tasks.spark_errors import start_failed, with_codes

LOOKS_LIKE_OURS = "[STATE_UNREADABLE] is only a text here"


class OfSpark(PySparkException):
    """As Spark's captured exceptions: it says its SQL state and where in the query it happened."""

    def __init__(self, text: str, state: str | None) -> None:
        super().__init__(text)
        self.text, self.state = text, state

    def getSqlState(self) -> str | None:  # noqa: N802 - Spark's
        return self.state

    def getQueryContext(self) -> list[Any]:  # noqa: N802
        return [SimpleNamespace(fragment=lambda: "10 / x")]

    def __str__(self) -> str:
        return self.text


def thrown(*messages: str | None) -> Any:
    """A throwable of the JVM with its causes."""
    if not messages:
        return None
    kind = SimpleNamespace(getSimpleName=lambda: "SparkException")
    return SimpleNamespace(
        getMessage=lambda: messages[0], getClass=lambda: kind, getCause=lambda: thrown(*messages[1:])
    )


def of_jvm(*messages: str | None) -> Py4JJavaError:
    error: Py4JJavaError = Py4JJavaError.__new__(Py4JJavaError)
    error.java_exception = thrown(*messages)
    return error


def told(error: Exception) -> DataflowError:
    with pytest.raises(DataflowError) as failure, with_codes():
        raise error
    assert failure.value.__cause__ is error
    return failure.value


@pytest.mark.parametrize("state", ["22012", "22003", "P0001"])
def test_an_sql_state_about_values_is_the_datas_error(state: str) -> None:
    error = told(OfSpark("[DIVIDE_BY_ZERO] Division by zero.\n== SQL ==\n10 / x", state))
    assert (type(error), error.code) == (DataError, "DATA_PAR_DO")
    assert "10 / x" in error.what
    assert error.reason == "[DIVIDE_BY_ZERO] Division by zero."


@pytest.mark.parametrize("state", [None, "42P01", "38000", "XX000"])
def test_any_other_is_the_engines(state: str | None) -> None:
    error = told(OfSpark(LOOKS_LIKE_OURS, state))
    assert (type(error), error.code) == (EngineError, "ENGINE_FAILED")


def test_of_a_failed_job_the_deepest_cause_is_told_that_says_anything() -> None:
    error = told(of_jvm("Job aborted\nat 60 lines", "Python worker exited unexpectedly (crashed)\nat x", None))
    assert error.code == "ENGINE_FAILED"
    assert error.what == "a Spark job failed: SparkException: Python worker exited unexpectedly (crashed)"


def test_of_a_failed_python_worker_the_last_line_of_its_traceback_is_told() -> None:
    text = 'Job aborted: Traceback (most recent call last):\n  File "x"\nValueError: boom\n\n\tat org.apache.spark'
    assert told(of_jvm(text)).what.endswith("ValueError: boom")


def test_a_jvm_that_is_gone_is_lost_and_another_connection_that_fails_is_not() -> None:
    namespace: dict[str, Any] = {"__name__": "py4j.clientserver"}
    exec("def connect():\n    raise ConnectionRefusedError(111, 'Connection refused')", namespace)
    with pytest.raises(EngineError) as failure, with_codes():
        namespace["connect"]()
    assert failure.value.code == "ENGINE_LOST"
    assert told(Py4JError("Answer from Java side is empty")).code == "ENGINE_LOST"
    with pytest.raises(ConnectionRefusedError), with_codes():
        raise ConnectionRefusedError(111, "a database of the user's")


def test_errors_of_this_package_and_of_others_go_through_as_they_are() -> None:
    for error in (StateError("damaged", code="STATE_UNREADABLE"), ValueError(LOOKS_LIKE_OURS)):
        with pytest.raises(type(error)) as failure, with_codes():
            raise error
        assert failure.value is error


def test_a_spark_that_does_not_start_is_told_apart() -> None:
    with pytest.raises(EngineError) as failure, with_codes(start_failed):
        raise PySparkException("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.")
    assert failure.value.code == "ENGINE_START"
