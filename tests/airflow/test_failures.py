from __future__ import annotations

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from airflow_dataflow_provider.model.errors import (
    DataError,
    DataflowError,
    DefinitionError,
    OwnershipError,
    StateError,
    SubmissionError,
)
from airflow_dataflow_provider.operators.failures import as_task_failure, driver_failure


@pytest.mark.parametrize(
    ("error", "lasting"),
    [
        (DefinitionError("bad", code="DEFINITION_KEY"), True),
        (SubmissionError("bad", code="SUBMIT_MODE"), True),
        (SubmissionError("no column", code="SOURCE_NO_COLUMN"), True),
        (StateError("another's", code="STATE_OTHER_PIPELINE"), True),
        (StateError("away", code="STATE_FILESYSTEM"), False),
        (StateError("full", code="STATE_STORAGE"), False),
        (StateError("damaged, see [STATE_STORAGE]", code="STATE_UNREADABLE"), True),
        (SubmissionError("no files yet", code="SOURCE_NOT_FOUND"), False),
        (OwnershipError("held", code="OWNER_HELD"), False),
        (DataError("rejects", code="DATA_REJECTS"), False),
    ],
)
def test_only_what_a_retry_cannot_mend_fails_for_good(error: DataflowError, lasting: bool) -> None:
    expected = AirflowFailException if lasting else AirflowException
    with pytest.raises(AirflowException) as caught, as_task_failure():
        raise error
    assert type(caught.value) is expected
    assert str(caught.value) == str(error)
    # The same from the driver, of which there are the exit status and the error.
    assert type(driver_failure(error.exit_code, error)) is expected


def test_a_driver_that_vanished_may_be_tried_again() -> None:
    failure = driver_failure(None, "...")
    assert type(failure) is AirflowException
    assert "guardian was killed" in str(failure)
