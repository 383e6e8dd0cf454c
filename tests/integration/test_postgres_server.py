from __future__ import annotations

import psycopg
import pytest

from nessie_gc_core.testing.servers import PostgresServer, ServerStartError, running

pytestmark = pytest.mark.server


def test_it_takes_its_own_password_and_no_other(postgres):
    with psycopg.connect(postgres.uri()) as connection:
        assert connection.execute("SELECT current_user").fetchone() == ("postgres",)
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.uri().replace(postgres.password, "another"))


def test_databases_can_be_created(postgres):
    name = postgres.create_database("fresh")
    with psycopg.connect(postgres.uri(name)) as connection:
        assert connection.execute("SELECT current_database()").fetchone() == ("fresh",)
    with pytest.raises(ServerStartError, match="already exists"):
        postgres.create_database("fresh")


def test_a_stopped_server_is_gone_with_its_files():
    with running(PostgresServer) as server:
        folder, port = server._folder, server.port
        assert folder is not None
        assert folder.exists()
        server.stop()
    assert not folder.exists()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(f"postgresql://postgres:x@127.0.0.1:{port}/postgres")
