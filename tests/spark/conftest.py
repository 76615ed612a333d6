"""What the engine's tests share."""

from __future__ import annotations

import os

import pytest


@pytest.fixture
def no_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing waits for the disk, in tests that write many small files and are not about power cuts."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
