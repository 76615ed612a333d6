"""Every test of progress that touches a store runs on a local folder and on ``memory://``."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from airflow_dataflow_provider.progress.store import Store


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "state") if request.param == "local" else f"memory://{uuid.uuid4().hex}/state"


@pytest.fixture
def store(url: str) -> Store:
    return Store.open(url)
