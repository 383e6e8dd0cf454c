"""S28: credentials go only to hosts that the configuration or the cloud names, never to one that data names."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices, in_memory
from nessie_gc_memory import MemoryLake, content, put

from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.services.parameters import SweepParameters

EVIL = "abfss://c@ouraccount.dfs.evil.example"
SECRET = "our-secret-signature"


@pytest.fixture
def arrived(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What arrives at the host of some committer: look-ups of names below ``evil.example``, and connections."""
    found: list[object] = []
    real = socket.getaddrinfo
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, address = server.accept()
                    found.append(address)
                    connection.close()

        def resolve(host: Any, asked: Any, *more: Any, **names: Any) -> Any:
            if "evil.example" not in str(host):
                return real(host, asked, *more, **names)
            found.append(host)
            return real("127.0.0.1", port, *more, **names)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


@pytest.fixture
def services(lake: MemoryLake) -> Iterator[LakeServices]:
    """Services with credentials for Azure, and a lake in memory with one table and some garbage."""
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/data/nobody.parquet")
    properties = {"adls.sas-token": f"sv=1&sig={SECRET}", "adls.account-name": "ouraccount"}
    with in_memory(lake) as services:
        yield services.choosing(properties=properties)


def test_s28_metadata_at_a_host_of_a_committer_is_unknown_and_not_asked_for(
    lake: MemoryLake, services: LakeServices, arrived: list[object]
) -> None:
    metadata = f"{EVIL}/db/e/metadata/1.metadata.json"
    lake.commit("main", put(content("db.e", metadata_location=metadata, snapshot_id=1)))
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert [] == arrived
    assert 1 == report.exit_code
    assert "evil.example" in report.unreadable[metadata]
    assert SECRET not in json.dumps(report.to_dict())
    assert "cannot be read and never could" in report.unknown["memory://wh/db/t/"]
    assert "memory://wh/db/t/data/nobody.parquet" in lake.paths()


def test_s28_a_base_location_at_such_a_host_is_not_listed(
    lake: MemoryLake, services: LakeServices, arrived: list[object], tmp_path: Path
) -> None:
    metadata = tmp_path / "1.metadata.json"
    fields = {"format-version": 2, "location": f"{EVIL}/wh/db/e", "last-column-id": 1, "snapshots": []}
    metadata.write_text(json.dumps(fields))
    lake.commit("main", put(content("db.e", metadata_location=str(metadata), snapshot_id=-1)))
    lake.advance(timedelta(days=3))
    report = services.collect("1")
    assert [] == arrived
    assert "evil.example" in report.unknown["abfs://c/wh/db/e/"]
    assert SECRET not in json.dumps(report.to_dict())


def test_s28_a_recorded_deletion_at_such_a_host_is_not_sent(
    lake: MemoryLake, services: LakeServices, arrived: list[object]
) -> None:
    lake.advance(timedelta(days=3))
    live_set = services.mark("1")
    deletion = FileDeletion(location=f"{EVIL}/wh/db/e/", path="x.parquet", size=1, modified=lake.time)

    def record(phase: str, *_: int | None) -> None:
        if phase == "delete":
            services.store.add_file_deletions(live_set, [deletion])

    services.sweep(live_set, SweepParameters(defer_deletes=True), progress=record)
    report = services.delete_deferred(live_set)
    assert [] == arrived
    (spared,) = report.spared_files
    assert "evil.example" in str(spared.reason)
    assert (0, {"abfs://c/wh/db/e/"}) == (len(report.failed_files), report.unknown.keys())
    assert SECRET not in json.dumps(report.to_dict())
