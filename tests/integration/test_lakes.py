"""Computed lakes in a real Nessie are what their oracle says: a plain walk over commits and metadata finds the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests
from lakes import CommittedLake, build_lake, commit_lake
from nessie_gc_memory.mock import MockChanges, MockLake, MockLakeSpec, write_lake
from pyiceberg.table import StaticTable

from nessie_gc_core import Collector
from nessie_gc_core.model import Outcome
from nessie_gc_core.testing.servers import NessieServer, running

SPEC = MockLakeSpec(
    references=4,
    branches_every=2,
    commits=24,
    branch_commits=4,
    table_count=3,
    files_per_commit=3,
    partitions=2,
    columns=1,
    overwrite_every=6,
    listed_snapshots=20,
    logged_metadata=5,
    deletes_every=4,
    statistics_every=3,
    format_versions=("1", "2", "3"),
    garbage_files=4,
    file_bytes=1000,
)

NO_COMMITS = "2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d"
"""Where every history of a Nessie begins."""
PREFIX = "simulated-"

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", params=[1, 2], ids=["a commit each", "two tables a commit"])
def lake(
    request: pytest.FixtureRequest, nessie: NessieServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CommittedLake]:
    main = requests.get(f"{nessie.uri}/trees/main", timeout=30).json()["reference"]
    source, trees = {**main, "hash": NO_COMMITS}, f"{nessie.uri}/trees"
    requests.post(f"{trees}?name={PREFIX}main&type=BRANCH", json=source, timeout=30).raise_for_status()
    folder = tmp_path_factory.mktemp("simulated") / "lake"
    spec = replace(SPEC, root=f"file://{folder}", tables_per_commit=request.param)
    write_lake(MockLake(spec, MockChanges()), folder)
    lake = commit_lake(spec, nessie.uri, prefix=PREFIX)
    yield lake
    for name in lake.logs:
        found = requests.get(f"{trees}/{name}", timeout=30).json()["reference"]
        requests.delete(f"{trees}/{name}@{found['hash']}?type={found['type']}", timeout=30).raise_for_status()


def log_of(lake: CommittedLake, reference: str) -> list[tuple[str, dict[str, str]]]:
    """The commits of a reference, newest first: their ids, and the metadata locations that they put."""
    url = f"{lake.nessie_uri}/trees/{reference}/history?max-records=250&fetch=ALL"
    entries = requests.get(url, timeout=30).json()["logEntries"]
    return [(entry["commitMeta"]["hash"], dict(puts(entry))) for entry in entries]


def puts(entry: dict[str, object]) -> Iterator[tuple[str, str]]:
    operations = entry["operations"]
    assert isinstance(operations, list)
    for operation in operations:
        if "metadataLocation" in operation["content"]:
            yield ".".join(operation["key"]["elements"]), operation["content"]["metadataLocation"]


def test_a_folder_has_as_many_files_as_the_oracle_says(lake: CommittedLake) -> None:
    stored = {str(path) for path in lake.folder.rglob("*") if path.is_file()}
    assert len(stored) == lake.stored_files
    assert stored == lake.live_paths() | lake.dead_paths()


def test_every_reference_has_the_commits_that_were_made(lake: CommittedLake) -> None:
    found = {name: tuple(commit for commit, _ in reversed(log_of(lake, name))) for name in lake.logs}
    assert found == lake.logs
    assert {"simulated-main", "simulated-branch-1", "simulated-tag-2", "simulated-branch-3"} == set(found)


@pytest.mark.parametrize("keep_commits", [None, 1, 7, 1000])
def test_live_paths_are_those_that_commits_and_metadata_lead_to(lake: CommittedLake, keep_commits: int | None) -> None:
    live: set[str] = set()
    for name in lake.logs:
        log = [put for _, put in log_of(lake, name)]
        kept = log[: keep_commits or len(log)]
        live.update(location for put in kept for location in put.values())
        visible: dict[str, str] = {}
        for put in reversed(log[len(kept) - 1 :]):
            visible.update(put)
        live.update(visible.values())

    assert lake.live_paths(keep_commits) == {path for location in live for path in files_of(location)}


def test_pyiceberg_reads_tables_of_all_format_versions(lake: CommittedLake) -> None:
    visible: dict[str, str] = {}
    for _, put in reversed(log_of(lake, f"{PREFIX}main")):
        visible.update(put)
    versions = [StaticTable.from_metadata(visible[key]).metadata.format_version for key in sorted(visible)]
    assert [1, 2, 3] == versions


def files_of(metadata: str) -> set[str]:
    """What the current snapshot of a metadata file needs, as PyIceberg reads it."""
    table = StaticTable.from_metadata(metadata)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    found = {metadata, snapshot.manifest_list}
    found.update(each.statistics_path for each in table.metadata.statistics if each.snapshot_id == snapshot.snapshot_id)
    for manifest in snapshot.manifests(table.io):
        found.add(manifest.manifest_path)
        found.update(entry.data_file.file_path for entry in manifest.fetch_manifest_entry(table.io))
    return {path.removeprefix("file://") for path in found}


def test_a_collection_deletes_exactly_what_the_oracle_allows(tmp_path: Path) -> None:
    spec = replace(SPEC, root=f"file://{tmp_path}/lake")
    with running(NessieServer) as server:
        lake = build_lake(spec, server.uri)
        with Collector(uri=server.uri, engine="local", inmemory=True) as gc:
            report = gc.collect(delete=True, default_cutoff="3")
    assert lake.live_paths(3) == {str(path) for path in lake.folder.rglob("*") if path.is_file()}
    assert len(lake.dead_paths(3)) == report.outcomes[Outcome.DELETED].files
    assert 0 == report.exit_code
