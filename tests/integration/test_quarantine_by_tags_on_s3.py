"""A quarantine by object tags from the first sweep to the purge: a catalog's tables in a bucket without versions."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from catalogs_on_s3 import rows
from click.testing import CliRunner
from pyiceberg.catalog import Catalog, load_catalog

from nessie_gc_core.cli.main import cli
from nessie_gc_core.testing.servers import running
from nessie_gc_core.testing.servers.moto import MotoServer

DEAD = ("wh/db/t/data/dead-0.parquet", "wh/db/t/data/dead-1.parquet")
PLACE = "tags:s3://tagged/"


@pytest.fixture(scope="module")
def server() -> Iterator[MotoServer]:
    with running(MotoServer) as server:
        yield server


class Tagged:
    """A table with two files that nothing needs, and the command line."""

    def __init__(self, server: MotoServer, folder: Path) -> None:
        properties = dict(server.properties)
        access = {"endpoint_url": server.endpoint, "region_name": server.region}
        keys = {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        self.client = boto3.client("s3", **access, **keys)
        self.client.create_bucket(Bucket="tagged")
        uri = f"sqlite:///{folder}/catalog.db"
        self.catalog: Catalog = load_catalog("prod", type="sql", uri=uri, **properties)
        self.catalog.create_namespace("db")
        self.table = self.catalog.create_table("db.t", rows(1).schema, location="s3://tagged/wh/db/t")
        self.table.append(rows(1))
        for key in DEAD:
            self.client.put_object(Bucket="tagged", Key=key, Body=key.encode(), Tagging="team=a")
        self._config = folder / "nessie-gc.toml"
        shown = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in properties.items())
        self._config.write_text(
            f'engine = "local"\njdbc-url = "sqlite:///{folder}/live-sets.db"\n'
            f'[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\nuri = "{uri}"\n'
            f"[repository.properties]\n{shown}"
        )
        self._access = [part for key, value in properties.items() for part in ("-I", f"{key}={value}")]
        time.sleep(2.1)  # the server's clock and its files' times are whole seconds: what was written is to be older

    def run(self, command: str, *options: str) -> dict[str, Any]:
        """The report of one command."""
        ages = ["--min-age", "PT0S", "--no-age-floor"] if command == "gc" else []
        access = [] if command == "list-quarantine" else self._access
        words = [command, "--config", str(self._config), "--json", *ages, *access, *options]
        run = CliRunner().invoke(cli, words)
        assert run.stdout, run.stderr
        return dict(json.loads(run.stdout))

    def tags(self) -> dict[str, dict[str, str]]:
        """The tags of all objects that have some."""
        keys = [found["Key"] for found in self.client.list_objects_v2(Bucket="tagged")["Contents"]]
        sets = {key: self.client.get_object_tagging(Bucket="tagged", Key=key)["TagSet"] for key in keys}
        return {key: {each["Key"]: each["Value"] for each in tags} for key, tags in sets.items() if tags}


@pytest.mark.server
def test_s15_tagged_files_are_held_restored_and_purged(server: MotoServer, tmp_path: Path) -> None:
    lake = Tagged(server, tmp_path)
    first = lake.run("gc", "--quarantine", PLACE, "--quarantine-for", "PT0S")
    assert (2, 0) == (first["quarantined"]["files"], first["exit_code"]), first
    mark = {"team": "a", "nessie-gc-quarantine": first["live_set_id"]}
    assert dict.fromkeys(DEAD, mark) == lake.tags()
    (held,) = lake.run("list-quarantine")["quarantines"]
    assert (PLACE, "HELD", 2) == (held["place"], held["state"], held["files"])

    restored = lake.run("restore", "--matching", ".*dead-0.parquet")
    assert 1 == restored["restored"]["files"], restored
    assert {DEAD[0]: {"team": "a"}, DEAD[1]: mark} == lake.tags()

    again = lake.run("gc")
    assert (1, 1) == (again["deleted"]["files"], again["spared"]["files"]), again
    purged = lake.run("purge")
    assert (1, 0) == (purged["purged"]["files"], purged["exit_code"]), purged
    assert ([], {}) == (lake.run("list-quarantine")["quarantines"], lake.tags())
    assert [1] == lake.table.scan().to_arrow().column("n").to_pylist()
