from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from nessie_gc_nessie import NessieConnector
from nessie_writer import NessieWriter

from nessie_gc_core.testing.servers import NessieServer, running


@pytest.fixture(scope="session")
def server() -> Iterator[NessieServer]:
    """One Nessie for all tests; each works on branches of its own."""
    with running(NessieServer) as nessie:
        yield nessie


@pytest.fixture(scope="session")
def writer(server: NessieServer) -> Iterator[NessieWriter]:
    with closing(NessieWriter(server.uri)) as writer:
        yield writer


@pytest.fixture
def connector(server: NessieServer) -> Iterator[NessieConnector]:
    with NessieConnector.from_options({"uri": server.uri}) as connector:
        yield connector
