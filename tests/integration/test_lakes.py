"""Simulated lakes are what they say: real metadata, and facts that agree with a plain walk over it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import requests
from lakes import LakeFacts, LakeSpec, build_lake
from pyiceberg.table import StaticTable

from nessie_gc_core.testing.servers import NessieServer

SPEC = LakeSpec(
    tables=2,
    appends=14,
    files_per_append=3,
    branches=2,
    overwrite_every=6,
    namespace="simulated",
    branch_prefix="simulated-",
    main="simulated",
)

NO_COMMITS = "2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d"
"""Where every history of a Nessie begins."""

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", params=[1, 2], ids=["a commit each", "two tables a commit"])
def facts(
    request: pytest.FixtureRequest, nessie: NessieServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LakeFacts]:
    main = requests.get(f"{nessie.uri}/trees/main", timeout=30).json()["reference"]
    source = {**main, "hash": NO_COMMITS}
    requests.post(f"{nessie.uri}/trees?name={SPEC.main}&type=BRANCH", json=source, timeout=30).raise_for_status()
    spec = replace(SPEC, tables_per_commit=request.param)
    yield build_lake(spec, tmp_path_factory.mktemp("simulated"), nessie.uri)
    for name in [SPEC.main, *map(SPEC.branch_name, range(1, SPEC.branches + 1))]:
        head = requests.get(f"{nessie.uri}/trees/{name}", timeout=30).json()["reference"]["hash"]
        requests.delete(f"{nessie.uri}/trees/{name}@{head}?type=BRANCH", timeout=30).raise_for_status()


def test_every_file_on_the_disk_is_named_by_a_commit_or_is_garbage(facts: LakeFacts) -> None:
    stored = {str(path) for path in Path(facts.directory).rglob("*") if path.is_file()}

    assert stored == set(facts.committed_paths()) | set(facts.garbage)
    assert len(stored) == facts.stored_files


def test_every_branch_has_the_commits_that_the_facts_say(facts: LakeFacts) -> None:
    for branch, history in facts.branches.items():
        log = requests.get(f"{facts.nessie_uri}/trees/{branch}/history?max-records=250", timeout=30).json()
        found = [entry["commitMeta"]["hash"] for entry in log["logEntries"]]
        assert [commit.commit_id for commit in reversed(history)] == found


@pytest.mark.parametrize("keep_commits", [None, 1, 7, 1000])
def test_live_paths_are_those_that_the_metadata_leads_to(facts: LakeFacts, keep_commits: int | None) -> None:
    expected: set[str] = set()
    for history in facts.branches.values():
        visible: dict[int, int] = {}
        cut = len(history) - (keep_commits or len(history))
        live = {state for commit in history[max(cut, 0) :] for state in commit.states}
        for commit in history[: max(cut, 0) + 1]:
            visible.update((facts.states[state].table, state) for state in commit.states)
        for state in live | set(visible.values()):
            expected |= files_of(facts.states[state].metadata)

    assert expected == facts.live_paths(keep_commits)


def files_of(metadata: str) -> set[str]:
    """What the current snapshot of a metadata file needs, as PyIceberg reads it."""
    table = StaticTable.from_metadata(f"file://{metadata}")
    snapshot = table.current_snapshot()
    assert snapshot is not None
    found = {metadata, snapshot.manifest_list.removeprefix("file://")}
    for manifest in snapshot.manifests(table.io):
        found.add(manifest.manifest_path.removeprefix("file://"))
        for entry in manifest.fetch_manifest_entry(table.io):
            found.add(entry.data_file.file_path.removeprefix("file://"))
    return found
