"""Computed lakes: what a listing says, what an object holds and what the oracle expects fit together."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import fastavro
import pytest
from nessie_gc_memory.mock import MockChanges, MockFileDeleter, MockFileLister, MockLake, MockLakeSpec, MockOracle
from nessie_gc_memory.mock.layout import Role
from nessie_gc_memory.mock.pace import Pace

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.files import FileReference

ROOT = "mock://lake/warehouse/"
ALL = MockLakeSpec(
    lake="all",
    references=6,
    commits=40,
    table_count=3,
    branch_commits=4,
    files_per_commit=3,
    garbage_files=4,
    format_versions=("1", "2", "3"),
    deletes_every=2,
    deletes_per_commit=2,
    statistics_every=3,
    missing_share=0.1,
    broken_share=0.1,
)


@pytest.fixture
def lake():
    return MockLake(ALL, MockChanges())


def listed(lake, location=ROOT, **part):
    return {location + path: each.size for each in lake.listing(location, **part) for path in each.paths}


def data_files(lake, manifest) -> list[Any]:
    """What a manifest says of each file, as another library reads it."""
    read: Iterator[Any] = iter(fastavro.reader(io.BytesIO(lake.content(lake.layout.path(manifest)))))
    return [entry["data_file"] for entry in read]


def test_a_listing_is_in_the_order_of_its_bytes(lake):
    paths = list(listed(lake))
    assert len(paths) > 300
    assert sorted(paths, key=str.encode) == paths


def test_every_listed_size_is_that_of_the_content(lake):
    sizes = {path: size for path, size in listed(lake).items() if "/metadata/" in path}
    assert sizes == {path: len(lake.content(path)) for path in sizes}


def test_every_listed_object_can_be_looked_up(lake):
    found = {path: lake.object(path) for path in listed(lake)}
    assert listed(lake) == {path: each.size for path, each in found.items()}


def test_files_that_are_not_stored_are_neither_listed_nor_read():
    spec = replace(ALL, broken_share=0)
    whole, lost = MockLake(spec, MockChanges()), list(MockOracle(spec, "NONE").lost())
    assert lost
    assert set(lost).isdisjoint(listed(whole))
    assert {None} == {whole.content(path) for path in lost}


@pytest.mark.parametrize("path", ["t000001/", "t000001/data/", "t000002/metadata/snap-0", "t00000", "u/"])
def test_a_listing_of_a_prefix_has_what_begins_with_it(lake, path):
    location = ROOT + path
    assert {each: size for each, size in listed(lake).items() if each.startswith(location)} == listed(lake, location)


def test_the_parts_of_a_listing_are_the_whole(lake):
    parts = [listed(lake, part=number, parts=5) for number in range(5)]
    assert sum(map(len, parts)) == len(listed(lake))
    assert listed(lake) == {path: size for part in parts for path, size in part.items()}


def test_another_process_computes_the_same_lake(lake):
    script = (
        "import sys, json, hashlib; from nessie_gc_memory.mock import *\n"
        "lake = MockLake(MockLakeSpec.from_mapping(json.loads(sys.argv[1])), MockChanges())\n"
        "print(json.dumps([[path, each.size] for each in lake.listing(sys.argv[2]) for path in each.paths]))"
    )
    command = [sys.executable, "-c", script, json.dumps(ALL.as_options()), ROOT]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert listed(lake) == {ROOT + path: size for path, size in found}


def test_a_seed_changes_every_name_and_no_number(lake):
    other = MockLake(replace(ALL, seed=1, missing_share=0, broken_share=0), MockChanges())
    same = MockLake(replace(ALL, missing_share=0, broken_share=0), MockChanges())
    assert len(listed(same)) == len(listed(other))
    orphans = {path for path in listed(same) if "/orphan-" in path}
    assert orphans == listed(same).keys() & listed(other).keys()


def test_manifests_name_the_files_of_their_snapshot(lake):
    whole = MockLake(replace(ALL, broken_share=0), MockChanges())
    for table in whole.tables:
        for block in whole.layout.blocks(table):
            if block.role in (Role.MANIFEST, Role.DELETE_MANIFEST):
                entries = data_files(whole, block)
                files = whole.metadata.named(block)
                assert {entry["file_path"] for entry in entries} == {
                    whole.layout.path(files, index) for index in range(files.count)
                }
                assert whole.metadata.entry_count(block) == len(entries)


def test_deletion_vectors_of_one_puffin_file_name_their_data_files(lake):
    (snapshot, *_) = (each for each in lake.history.snapshots(2) if lake.history.has_deletes(each))
    entries = data_files(lake, lake.layout.block(snapshot, Role.DELETE_MANIFEST))
    assert 1 == len({entry["file_path"] for entry in entries})
    assert 2 == len({entry["referenced_data_file"] for entry in entries})
    assert 2 == len({entry["content_offset"] for entry in entries})


@pytest.mark.parametrize("table", [0, 1, 2])
def test_metadata_lists_a_few_snapshots_with_their_manifest_lists(lake, table):
    *_, last = lake.history.snapshots(table)
    metadata = json.loads(lake.content(lake.layout.path(lake.layout.block(last, Role.METADATA))))
    assert (table + 1, ALL.listed_snapshots) == (metadata["format-version"], len(metadata["snapshots"]))
    assert metadata["current-snapshot-id"] == metadata["snapshots"][-1]["snapshot-id"]
    assert all(lake.content(snapshot["manifest-list"]) for snapshot in metadata["snapshots"])


@pytest.mark.parametrize("cutoff", ["NONE", "1", "5", "2025-01-01T00:00:00Z", "2024-12-31T20:00:00Z"])
def test_the_counts_of_the_oracle_are_those_of_its_paths(lake, cutoff):
    oracle, stored = MockOracle(ALL, cutoff), set(listed(lake))
    live, garbage, counts = set(oracle.live_files()), set(oracle.garbage()), oracle.counts()
    assert (len(stored), len(live & stored), len(garbage)) == (counts.stored, counts.live, counts.garbage)
    assert counts.stored == counts.live + counts.garbage + counts.frozen
    assert len(set(oracle.lost())) == counts.lost
    assert set() == live & garbage
    assert sum(listed(lake)[path] for path in garbage) == counts.garbage_bytes


def test_the_oracle_keeps_files_that_are_too_young():
    spec, newest = replace(ALL, references=1, broken_share=0), ALL.newest - timedelta(hours=4)
    young = set(MockOracle(spec, "1").garbage()) - set(MockOracle(spec, "1", newest=newest).garbage())
    assert young
    whole = MockLake(spec, MockChanges())
    assert all(found is not None and found.modified > newest for found in map(whole.object, young))


def test_tables_that_only_a_branch_has_are_stored_as_well():
    spec = MockLakeSpec(references=2, commits=1, branch_commits=4, table_count=8)
    assert range(5) == MockLake(spec, MockChanges()).tables
    assert set(MockOracle(spec, "NONE").live_files()) <= listed(MockLake(spec, MockChanges())).keys()


def test_a_longer_history_keeps_more():
    spec = replace(ALL, references=2, broken_share=0)
    garbage = [MockOracle(spec, cutoff).counts().garbage for cutoff in ("1", "20", "NONE")]
    assert sorted(garbage, reverse=True) == garbage
    assert garbage[0] > garbage[1] > garbage[2] == ALL.table_count * ALL.garbage_files


def test_a_deleter_in_another_process_sees_what_was_deleted(tmp_path):
    options = {**ALL.as_options(), "changes": str(tmp_path / "changes.jsonl")}
    path = "t000000/data/orphan-00000001.parquet"
    with MockFileDeleter.from_options(options) as deleter:
        first = list(deleter.delete_files(ROOT, [FileReference(location=ROOT, path=path)]))
    changes = MockChanges(tmp_path / "changes.jsonl")
    assert (["DELETED"], {ROOT + path}) == ([outcome.status for outcome in first], changes.deleted())


def test_a_deleted_file_is_not_listed_any_more():
    spec = replace(ALL, lake=f"lake-{uuid4()}")
    lister, deleter = MockFileLister(spec), MockFileDeleter(spec)
    (first, *others) = lister.list_files(ROOT)
    assert ["DELETED"] == [outcome.status for outcome in deleter.delete_files(ROOT, [first])]
    assert others == list(lister.list_files(ROOT))
    MockChanges.forget(spec)


def test_each_request_takes_the_latency_and_a_refused_one_four_times_as_long():
    waited: list[float] = []
    pace = Pace(replace(ALL, latency=timedelta(seconds=1), throttled_share=0.5), waited.append)
    for _ in range(100):
        pace.request()
    assert {1.0, 4.0} == set(waited)
    assert 30 < waited.count(4.0) < 70


@pytest.mark.parametrize(
    ("option", "value"),
    [("root", "lake"), ("root", "mock://"), ("root", "mock://lake/"), ("format_versions", "4"), ("lake", " ")],
)
def test_what_describes_no_lake_is_refused(option, value):
    with pytest.raises(ConfigurationError, match=f"option '{option}'"):
        MockLakeSpec.from_mapping({option: value})


def test_options_survive_the_way_through_plain_values():
    spec = replace(ALL, newest=datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC), latency=timedelta(milliseconds=3))
    assert spec == MockLakeSpec.from_mapping(json.loads(json.dumps(spec.as_options())))


def test_a_configuration_file_has_the_options_of_every_connector():
    settings = tomllib.loads(ALL.as_toml())
    repository = settings["repository"]
    assert "mock" == repository.pop("name")
    connectors = [tables["mock"] for tables in settings["connectors"].values()]
    assert [ALL] * 4 == [MockLakeSpec.from_mapping(options) for options in (repository, *connectors)]
