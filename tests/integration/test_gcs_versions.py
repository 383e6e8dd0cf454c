"""A lake in a GCS bucket that keeps versions: the command line hides garbage, brings it back, and purges it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cli_runs import go_home
from click.testing import CliRunner
from gcs_versions import gcs_with_versions
from pyiceberg.catalog import Catalog, load_catalog

from nessie_gc_core.cli.main import cli

ROWS = pa.table({"n": pa.array([1, 2], pa.int64())})
HIDE = ("--quarantine", "versions:gs://versions/")


@dataclass(frozen=True)
class Lake:
    gcs: Any
    """Of the plugin's own tests."""
    catalog: Catalog

    def visible(self) -> dict[str, bytes]:
        """What readers of the bucket get."""
        found = {key: self.gcs.live(key) for key in self.gcs.kept}
        return {key: live.data for key, live in found.items() if live is not None}

    def noncurrent(self) -> int:
        """How many generations are not live."""
        return sum(each.deleted is not None for kept in self.gcs.kept.values() for each in kept)

    def run(self, *command: str) -> dict[str, Any]:
        """Runs a command, and gives its report."""
        result = CliRunner().invoke(cli, [*command, "--engine", "local", "--json"], catch_exceptions=False)
        assert result.stdout, result.stderr
        return {**json.loads(result.stdout), "exit_code": result.exit_code}


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    """A table whose first data file, and a file that nobody knows, are garbage; all are old."""
    home = go_home(tmp_path, monkeypatch)
    uri = f"sqlite:///{tmp_path}/catalog.db"
    with gcs_with_versions().versioned_gcs() as gcs:
        gcs.time = datetime.now(UTC) - timedelta(days=40)
        monkeypatch.setenv("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")  # else gcsfs waits for a service of Google's
        files = {**gcs.properties, "gcs.project-id": "none", "py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}
        properties = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in files.items())
        (home / "nessie-gc.toml").write_text(
            f'[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\nuri = "{uri}"\n'
            f"[repository.properties]\n{properties}[iceberg]\n{properties}"
        )
        with load_catalog("prod", type="sql", uri=uri, warehouse="gs://versions/warehouse", **files) as catalog:
            catalog.create_namespace("db")
            table = catalog.create_table("db.t", ROWS.schema)
            table.append(ROWS)
            orphan = table.location().removeprefix("gs://versions/") + "/data/odd #1 ?a=b%20c.parquet"
            gcs.put(orphan, b"left over")
            gcs.put(f"{orphan}.2", b"left over as well")
            gcs.time = None
            yield Lake(gcs, catalog)


def test_s15_garbage_is_hidden_restored_hidden_again_and_purged(lake: Lake) -> None:
    before = lake.visible()
    swept = lake.run("gc", *HIDE)
    assert (0, 2) == (swept["exit_code"], swept["quarantined"]["files"]), swept
    assert (len(before) - 2, 2) == (len(lake.visible()), lake.noncurrent())

    lake.gcs.time = datetime.now(UTC) - timedelta(minutes=1)  # the store tells its clock in whole seconds
    restored = lake.run("restore", "--everything")
    lake.gcs.time = None
    assert (0, 2) == (restored["exit_code"], restored["restored"]["files"]), restored
    assert (before, 0) == (lake.visible(), lake.noncurrent())

    young = lake.run("gc", *HIDE)
    assert 0 == young["quarantined"]["files"], "what is restored is young again"
    again = lake.run("gc", *HIDE, "--quarantine-for", "PT0S", "--min-age", "PT0S", "--no-age-floor")
    assert 2 == again["quarantined"]["files"], again
    purged = lake.run("purge")
    assert (0, 2) == (purged["exit_code"], purged["purged"]["files"]), purged
    assert (len(before) - 2, 0) == (len(lake.visible()), lake.noncurrent())
    assert 0 == lake.run("restore", "--everything")["restored"]["files"]
    assert [1, 2] == lake.catalog.load_table("db.t").scan().to_arrow().column("n").to_pylist()


def _some(usual: int, *, of: int) -> list[Any]:
    """All numbers of requests; usually one of them is enough."""
    thorough = pytest.mark.thorough
    return [pytest.param(number, marks=() if number == usual else thorough) for number in range(of)]


def stops_at(lake: Lake, method: str, requests: int) -> None:
    """From its next request with a method on, the store only answers some more: as if the client were killed."""
    lake.gcs.before.append((method, lambda: setattr(lake.gcs, "answers", requests)))


@pytest.mark.parametrize("requests", _some(2, of=4))
def test_s15_a_sweep_that_stops_while_it_hides_loses_nothing(lake: Lake, requests: int) -> None:
    before = lake.visible()
    stops_at(lake, "DELETE", requests)
    assert 1 == lake.run("gc", *HIDE)["exit_code"]
    lake.gcs.answers = None
    assert (requests > 0) is (lake.noncurrent() > 0)
    lake.run("restore", "--everything")
    assert (before, 0) == (lake.visible(), lake.noncurrent())


@pytest.mark.parametrize("requests", _some(3, of=6))
def test_s15_a_restore_that_stops_goes_on_and_is_not_purged(lake: Lake, requests: int) -> None:
    before = lake.visible()
    lake.run("gc", *HIDE, "--quarantine-for", "PT0S")
    stops_at(lake, "POST", requests)
    assert 1 == lake.run("restore", "--everything")["exit_code"]
    lake.gcs.answers = None
    restored = lake.run("restore", "--everything")
    assert (0, before, 0) == (restored["exit_code"], lake.visible(), lake.noncurrent()), restored
    assert 0 == lake.run("purge")["purged"]["files"]


@pytest.mark.parametrize("requests", _some(1, of=2))
def test_s15_a_purge_that_stops_goes_on(lake: Lake, requests: int) -> None:
    before = lake.visible()
    lake.run("gc", *HIDE, "--quarantine-for", "PT0S")
    stops_at(lake, "DELETE", requests)
    assert 1 == lake.run("purge")["exit_code"]
    lake.gcs.answers = None
    purged = lake.run("purge")
    assert (0, 2 - requests, 0) == (purged["exit_code"], purged["purged"]["files"], lake.noncurrent()), purged
    assert len(before) - 2 == len(lake.visible())


def test_s15_in_a_bucket_without_versioning_nothing_is_deleted(lake: Lake) -> None:
    lake.gcs.settings = {}
    before = lake.visible()
    swept = lake.run("gc", *HIDE)
    assert (before, 0) == (lake.visible(), swept["quarantined"]["files"])
    assert any("versioning of gs://versions/ is off" in warning for warning in swept["warnings"])


def test_s15_older_versions_go_with_what_is_dead(lake: Lake) -> None:
    before = lake.visible()
    (orphan,) = (key for key in before if key.endswith(".parquet.2"))
    lake.gcs.time = datetime.now(UTC) - timedelta(days=30)
    lake.gcs.put(orphan, b"written again")
    report = lake.run("gc", "--noncurrent-versions", "delete")
    assert (0, 2, 1) == (report["exit_code"], report["deleted"]["files"], report["noncurrent_versions"]["files"])
    assert (len(before) - 2, 0) == (len(lake.visible()), lake.noncurrent())
