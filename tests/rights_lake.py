"""A lake of a plain catalog whose requests to its object store are noted, and what each use of it asks for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest
from click.testing import CliRunner
from lakes.nessie import NessieCommits
from noted_requests import Recording
from pyiceberg.catalog import Catalog
from tagged_lakes import policy_of_now

from nessie_gc_core.cli.main import cli

NOW = ("--min-age", "PT0S", "--no-age-floor")
ROWS = pa.table({"n": pa.array([1, 2], pa.int64())})
_DEAD = 2
"""So many files of each table are garbage."""


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """The back door to a bucket, past the proxy."""

    url: str
    """Its location, without a slash at the end."""
    put: Callable[[str, bytes], object]
    delete: Callable[[str], object]
    keep_versions: Callable[..., object] = dict
    """Turns versioning on or off."""


@dataclass(frozen=True, kw_only=True)
class RightsLake:
    """A table for each use, so that no use sees the garbage of another one."""

    folder: Path
    bucket: Bucket
    catalog: Catalog
    record: Recording
    nessie: Callable[[], str]
    """The URI of a server, which starts when it is first asked for."""

    def write(self, *uses: str) -> None:
        """The tables."""
        self.catalog.create_namespace("db")
        for use in uses:
            table = self.catalog.create_table(f"db.{_name(use)}", ROWS.schema)
            for _ in range(2):
                table.append(ROWS)
            self.leave_garbage(use)
        grow_old()

    def log_in(self, access: Mapping[str, str], store: str | None = None) -> None:
        """Collects from now on with an account of the storage.

        Args:
            access: properties of the storage, by the address of the proxy.
            store: the URL of the live-set store; else it is a file.
        """
        uri, warehouse = f"sqlite:///{self.folder}/catalog.db", f"{self.bucket.url}/warehouse"
        prod = {"type": "sql", "uri": uri, "warehouse": warehouse, **access}
        settings = "".join(f"    {name}: {json.dumps(value)}\n" for name, value in prod.items())
        (self.folder / ".pyiceberg.yaml").write_text(f"catalog:\n  prod:\n{settings}")  # for tables of assets
        lines = "".join(f"{json.dumps(name)} = {json.dumps(value)}\n" for name, value in access.items())
        common = f'engine = "local"\njdbc-url = "{store or f"sqlite:///{self.folder}/live-sets.db"}"\n[repository]\n'
        (self.folder / "nessie-gc.toml").write_text(
            f'{common}name = "iceberg-catalog"\ncatalog_name = "prod"\n'
            f'uri = "{uri}"\n[repository.properties]\n{lines}[iceberg]\n{lines}'
        )
        (self.folder / "on-nessie.toml").write_text(f'{common}name = "nessie"\n[iceberg]\n{lines}')

    def leave_garbage(self, use: str) -> None:
        """Files that nothing needs, in the table of a use."""
        for number in range(_DEAD):
            self.bucket.put(f"warehouse/db/{_name(use)}/data/dead-{number}.parquet", b"left over")

    @contextmanager
    def without_metadata(self, use: str) -> Iterator[None]:
        """The metadata of a table is not there for a while."""
        table = self.catalog.load_table(f"db.{_name(use)}")
        key = table.metadata_location.removeprefix(f"{self.bucket.url}/")
        data = table.io.new_input(table.metadata_location).open().read()
        self.bucket.delete(key)
        try:
            yield
        finally:
            self.bucket.put(key, data)

    @contextmanager
    def branch(self, use: str) -> Iterator[str]:
        """A branch in Nessie that has the table of a use, while the block runs: all tests share the server."""
        name, table = f"{use}-{uuid4().hex}", self.catalog.load_table(f"db.{_name(use)}")
        content = {
            "type": "ICEBERG_TABLE",
            "metadataLocation": table.metadata_location,
            "snapshotId": table.metadata.current_snapshot_id,
            "schemaId": 0,
            "specId": 0,
            "sortOrderId": 0,
        }
        with NessieCommits(self.nessie()) as commits:
            commits.create_branch(name, source="main")
            try:
                commits.put(name, {(use,): content}, message="by a test")
                yield name
            finally:
                commits.delete(name)

    def run(self, command: str, *options: str, exit_code: int = 0, config: str = "nessie-gc.toml") -> dict[str, Any]:
        """The report of a command."""
        words = (command, "--config", str(self.folder / config), "--json", *options)
        run = CliRunner().invoke(cli, words, env={"PYICEBERG_HOME": str(self.folder)})
        assert exit_code == run.exit_code, f"{run.stdout}{run.stderr}"
        return dict(json.loads(run.stdout))

    def collect(self, use: str, *options: str, command: str = "gc", exit_code: int = 0) -> dict[str, Any]:
        """The report of a command on the table of one use."""
        return self.run(command, "--include", f"db[.]{_name(use)}", *NOW, *options, exit_code=exit_code)

    def remove_orphans(self, use: str, *options: str) -> dict[str, Any]:
        """The report of a removal of orphan files from the table of a use."""
        table = f"db.{_name(use)}"
        return self.run("remove-orphan-files", "--table", table, "--older-than", "PT0S", "--no-age-floor", *options)


def nessie_of(request: pytest.FixtureRequest) -> Callable[[], str]:
    """The server that all tests share."""
    return lambda: str(request.getfixturevalue("nessie").uri)


def grow_old() -> None:
    """Clocks of servers and times of files are whole seconds: what was written is older than all of them afterwards."""
    time.sleep(2.1)


def mark(lake: RightsLake) -> None:
    """A file that is missing is asked for as well."""
    lake.run("mark")
    lake.run("health")
    lake.run("autotag", "--dry-run", "--tag-policy", "daily=1")
    with lake.without_metadata("mark"):
        lake.run("mark")


def find(lake: RightsLake) -> None:
    lake.run("check", "--allow", f"{lake.bucket.url}/warehouse", *NOW)
    found = lake.collect("find", "--dry-run")
    assert _DEAD == found["would_delete"]["files"], found
    assert _DEAD == lake.remove_orphans("find", "--dry-run")["would_delete"]["files"]
    lake.collect("find", "--older-than", "PT0S", "--dry-run", command="expire-snapshots")
    lake.run("explain", f"{lake.bucket.url}/warehouse/db/find/data/dead-0.parquet", *NOW)
    lake.run("what-if", *NOW)
    deferred = lake.collect("find", "--defer-deletes")
    assert _DEAD == deferred["deferred"]["files"], deferred
    found = lake.run("deferred-deletes", "--live-set-id", deferred["live_set_id"], "--dry-run")
    assert _DEAD == found["would_delete"]["files"], found


def sweep(lake: RightsLake) -> None:
    live_set = lake.run("mark")["live_set_id"]
    assert _DEAD == lake.collect("sweep", "--live-set-id", live_set, command="sweep")["deleted"]["files"]
    lake.leave_garbage("sweep")
    grow_old()
    live_set = lake.collect("sweep", "--defer-deletes")["live_set_id"]
    assert _DEAD == lake.run("deferred-deletes", "--live-set-id", live_set)["deleted"]["files"]
    lake.leave_garbage("sweep")
    grow_old()
    assert _DEAD == lake.remove_orphans("sweep")["deleted"]["files"]


def identify(lake: RightsLake) -> None:
    """In this process, without Spark."""
    found = lake.collect("identify", "--table", "prod.gc.found", command="identify-unreferenced")
    assert _DEAD == found["assets"]["files"], found


def delete_unreferenced(lake: RightsLake) -> None:
    """It removes the rows of what it deletes."""
    table = ("--table", "prod.gc.assets")
    lake.collect("delete-unreferenced", *table, command="identify-unreferenced")
    lake.run("report", *table)
    for outcome, options in (("would_delete", ("--dry-run",)), ("deleted", ())):
        found = lake.run("delete-unreferenced", *table, "--seen-count", "1", *NOW, *options)
        assert _DEAD == found["outcomes"][outcome]["files"], found
    assert 0 == lake.catalog.load_table("gc.assets").scan().to_arrow().num_rows


def quarantined(lake: RightsLake, use: str, place: str) -> None:
    """Holds the garbage of a table, restores one file, and purges the other one; first it only looks."""
    found = lake.collect(use, "--quarantine", place, "--dry-run")
    assert _DEAD == found["would_delete"]["files"], found
    held = lake.collect(use, "--quarantine", place, "--quarantine-for", "PT0S")
    assert _DEAD == held["quarantined"]["files"], held
    assert 1 == lake.run("restore", "--matching", f".*/{_name(use)}/data/dead-0.*")["restored"]["files"]
    if place.startswith("tags:"):
        lake.collect(use)  # without which no tagged file is purged
    assert 1 == lake.run("purge", "--matching", f".*/{_name(use)}/.*")["purged"]["files"]


def expire_snapshots(lake: RightsLake) -> None:
    found = lake.collect("expire-snapshots", "--older-than", "PT0S", command="expire-snapshots")
    assert found["collection"]["deleted"]["files"], found


def expire_on_nessie(lake: RightsLake) -> None:
    """First it only looks."""
    with lake.branch("expire-on-nessie") as branch:
        for look in (("--dry-run",), ()):
            to = ("-u", lake.nessie(), "--commit-to", branch, "--older-than", "PT0S", *look)
            found = lake.run("expire-snapshots", *to, config="on-nessie.toml")
            assert [("expired", 1)] == [(table["outcome"], table["expired"]) for table in found["tables"]], found


def autotag(lake: RightsLake) -> None:
    """Makes a tag, and deletes it."""
    policy, table = policy_of_now(), ("--include", "db[.]autotag")
    for outcome, keep in (("made", policy), ("deleted", policy.replace("=1;", "=0;"))):
        tags = lake.run("autotag", "--tag-policy", keep, *table)["tags"]
        assert [outcome] == [tag["outcome"] for tag in tags], tags


def _name(use: str) -> str:
    return use.replace("-", "_")
