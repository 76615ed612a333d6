from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster.standalone import StandaloneCluster, standalone_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[StandaloneCluster]:
    """Two workers that live as long as the run. A test that takes one away starts a cluster of its own."""
    with standalone_cluster(workers=2) as running:
        yield running
