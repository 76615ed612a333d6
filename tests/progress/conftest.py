"""Every test of progress that touches a store runs on a local folder and on ``memory://``; its contract on S3, too."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from airflow_dataflow_provider.progress.store.store import Store
from tests.progress.object_server import BUCKET


@pytest.fixture(params=["local", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "state") if request.param == "local" else f"memory://{uuid.uuid4().hex}/state"


@pytest.fixture
def store(url: str) -> Store:
    return Store.open(url)


@pytest.fixture(params=["local", "memory", "s3"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A store of each kind."""
    if request.param == "s3":
        request.getfixturevalue("object_server")
        return Store.open(f"s3://{BUCKET}/{uuid.uuid4().hex}/state")
    return Store.open(tmp_path / "state" if request.param == "local" else f"memory://{uuid.uuid4().hex}/state")
