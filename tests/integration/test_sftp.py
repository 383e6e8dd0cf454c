"""The whole job on an SFTP server, through fsspec: the command line collects a table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from lakes_on_sftp import ROOT, sftp_servers
from pyiceberg.catalog import Catalog, load_catalog

TESTS = Path(__file__).parents[1]
OLD = 1_700_000_000
"""When all files were written, as the server says: nobody waits until they are old enough."""


@dataclass(frozen=True)
class Lake:
    folder: Path
    catalog: Catalog
    properties: dict[str, str]
    arguments: dict[str, Any]

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}

    def gc(self, *options: str, engine: str = "local", **arguments: object) -> dict[str, Any]:
        for path in self.folder.rglob("*"):
            os.utime(path, (OLD, OLD))
        home = self.folder.parent
        properties = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in self.properties.items())
        (home / "nessie-gc.toml").write_text(
            '[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\n'
            f'uri = "sqlite:///{home}/catalog.db"\n[repository.properties]\n{properties}'
        )
        given = json.dumps({**self.arguments, **arguments})
        command = [sys.executable, "-m", "nessie_gc_core", "gc", "--config", str(home / "nessie-gc.toml"), "--inmemory"]
        run = subprocess.run(
            [*command, "--json", "--engine", engine, "-I", f"fsspec.sftp={given}", *options],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.stdout, run.stderr
        assert self.arguments["password"] not in run.stdout + run.stderr
        return dict(json.loads(run.stdout))


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    folder = tmp_path / "root"
    folder.mkdir()
    servers = sftp_servers()
    with servers.sftp_server(folder) as server:
        trusted = {"nessie-gc.trusted-hosts": f"127.0.0.1:{server.port}"}
        properties = {"py-io-impl": "lakes_on_sftp.BehindTheServer", ROOT: str(folder), **trusted}
        arguments = {
            "host": "127.0.0.1",
            "port": server.port,
            "username": "gc",
            "password": servers.PASSWORD,
            "known_hosts": str(server.known_hosts(tmp_path)),
        }
        uri = f"sqlite:///{tmp_path}/catalog.db"
        warehouse = f"sftp://127.0.0.1:{server.port}/lake/warehouse"
        with load_catalog("prod", type="sql", uri=uri, warehouse=warehouse, **properties) as catalog:
            catalog.create_namespace("db")
            yield Lake(folder, catalog, properties, arguments)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.thorough(engine="spark")
def test_only_what_no_snapshot_needs_leaves_the_server(lake: Lake, engine: str) -> None:
    rows = pa.table({"n": pa.array([1, 2], pa.int64())})
    table = lake.catalog.create_table("db.t", rows.schema)
    table.append(rows)
    table.overwrite(rows.slice(1))
    data = lake.folder / "lake" / table.location().partition("/lake/")[2] / "data"
    for name in ("orphan.parquet", "odd #1 ?a=b%20c [*].parquet"):
        (data / name).write_bytes(b"left over")
    before = lake.files()

    dry = lake.gc("--dry-run", engine=engine)
    assert (0, before) == (dry["exit_code"], lake.files()), dry
    report = lake.gc(engine=engine)

    gone = before - lake.files()
    assert 0 == report["exit_code"], report
    assert {"orphan.parquet", "odd #1 ?a=b%20c [*].parquet"} <= {Path(path).name for path in gone}
    assert dry["would_delete"]["files"] == report["deleted"]["files"] == len(gone)
    assert [2] == lake.catalog.load_table("db.t").scan().to_arrow().column("n").to_pylist()
    again = lake.gc()
    assert (0, 0) == (again["exit_code"], again["deleted"]["files"])
    assert any("cannot be read, so this machine's clock is used" in warning for warning in report["warnings"])


def test_s28_where_the_server_is_not_the_one_that_is_known_nothing_is_deleted(lake: Lake, tmp_path: Path) -> None:
    rows = pa.table({"n": pa.array([1], pa.int64())})
    table = lake.catalog.create_table("db.t", rows.schema)
    table.append(rows)
    table.overwrite(rows)
    before = lake.files()
    (tmp_path / "nobody").write_text("")

    report = lake.gc(known_hosts=str(tmp_path / "nobody"))

    assert (1, before) == (report["exit_code"], lake.files()), report
    assert all("not found in known_hosts" in unknown["reason"] for unknown in report["unknown"]), report
    assert report["unknown"]
