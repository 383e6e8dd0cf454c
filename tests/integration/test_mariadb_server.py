from __future__ import annotations

import pytest

from nessie_gc_core.testing.servers import MariaDbServer, ServerStartError, running

pytestmark = pytest.mark.server


def test_it_takes_its_own_password_and_databases_can_be_created(monkeypatch):
    with running(MariaDbServer) as mariadb:
        assert "fresh" == mariadb.create_database("fresh")
        with pytest.raises(ServerStartError, match="database exists"):
            mariadb.create_database("fresh")
        with pytest.raises(ValueError, match="plain database name"):
            mariadb.create_database("no`name")
        monkeypatch.setattr(mariadb, "password", "another")
        with pytest.raises(ServerStartError, match="Access denied"):
            mariadb.execute("SELECT 1")


def test_a_stopped_server_is_gone_with_its_files():
    with running(MariaDbServer) as server:
        folder = server._folder
        assert folder is not None
        assert folder.exists()
        server.stop()
        assert not folder.exists()
        with pytest.raises(ServerStartError, match="not started"):
            server.execute("SELECT 1")
