from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Simulated failures are logged as real ones are; here nobody has to read them."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)
