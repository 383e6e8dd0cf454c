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
from nessie_gc_memory.mock import (
    MockChanges,
    MockFileDeleter,
    MockFileLister,
    MockLake,
    MockLakeSpec,
    MockOracle,
    MockRepository,
)
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


DETAILED = replace(
    ALL,
    lake="detailed",
    seed=2,
    branches_every=3,
    tables_per_commit=2,
    files_per_commit=5,
    partitions=4,
    columns=2,
    compressed=True,
    logged_metadata=2,
    garbage_files=7,
)
"""Partitions of which one has two files of a snapshot, and commits that change two of three tables."""


@pytest.fixture(params=[ALL, DETAILED], ids=lambda spec: spec.lake)
def lake(request):
    return MockLake(request.param, MockChanges())


def listed(lake, location=ROOT, **part):
    return {location + path: each.size for each in lake.listing(location, **part) for path in each.paths}


def records(lake, path) -> list[Any]:
    """The records of a manifest or a manifest list, as another library reads them."""
    read: Iterator[Any] = iter(fastavro.reader(io.BytesIO(content(lake, path))))
    return list(read)


def content(lake, path) -> bytes:
    """The content of an object that exists."""
    found: bytes | None = lake.content(path)
    assert found is not None
    return found


def data_files(lake, manifest) -> list[Any]:
    """What a manifest says of each file."""
    return [entry["data_file"] for entry in records(lake, lake.layout.path(manifest))]


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


@pytest.mark.parametrize(
    "path", ["t000000/", "t000000", "t000000_old/data/", "t000001/metadata/snap-0", "t00000", "u/"]
)
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
    command = [sys.executable, "-c", script, json.dumps(lake.spec.as_options()), ROOT]
    found = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert listed(lake) == {ROOT + path: size for path, size in found}


def test_a_seed_changes_every_name_and_no_number(lake):
    other = MockLake(replace(lake.spec, seed=1, missing_share=0, broken_share=0), MockChanges())
    same = MockLake(replace(lake.spec, missing_share=0, broken_share=0), MockChanges())
    assert len(listed(same)) == len(listed(other))
    assert set() == listed(same).keys() & listed(other).keys()


def test_the_name_of_a_table_begins_like_that_of_its_neighbour(lake):
    first, second, _ = (lake.layout.location(table) for table in lake.tables)
    assert second.startswith(first)
    assert listed(lake, f"{first}/").keys() < listed(lake, first).keys()
    assert listed(lake, first).keys() == listed(lake, f"{first}/").keys() | listed(lake, f"{second}/").keys()


def test_names_of_files_are_as_long_as_those_of_iceberg(lake):
    shortest = min(listed(lake), key=lambda path: len(path.rpartition("/")[2]))
    assert len(shortest.rpartition("/")[2]) > 55


def test_some_of_the_garbage_looks_like_manifests():
    lake = MockLake(replace(DETAILED, garbage_files=41, broken_share=0), MockChanges())
    garbage = [path for path in listed(lake, f"{ROOT}t000001/") if "/orphan-" in path]
    of_metadata = [path for path in garbage if "/metadata/" in path]
    assert (41, 3) == (len(garbage), len(of_metadata))
    assert all(path.endswith("-m0.avro") for path in of_metadata)
    assert set(garbage) <= set(MockOracle(lake.spec, "NONE").garbage())


def test_manifests_name_the_files_of_their_snapshot(lake):
    whole = MockLake(replace(lake.spec, broken_share=0), MockChanges())
    for table in whole.tables:
        for block in whole.layout.blocks(table):
            if block.role in (Role.MANIFEST, Role.DELETE_MANIFEST):
                entries = data_files(whole, block)
                assert {entry["file_path"] for entry in entries} == {
                    whole.layout.path(files, index)
                    for files in whole.metadata.named(block)
                    for index in range(files.count)
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


def test_data_files_take_turns_in_the_partitions():
    lake = MockLake(replace(DETAILED, broken_share=0, missing_share=0), MockChanges())
    (snapshot, *_) = lake.history.snapshots(1)
    entries = data_files(lake, lake.layout.block(snapshot, Role.MANIFEST))
    assert ["000", "000", "001", "002", "003"] == [entry["partition"]["p"] for entry in entries]
    assert all(f"/data/p={entry['partition']['p']}/" in entry["file_path"] for entry in entries)
    (manifest, *_) = records(lake, lake.layout.path(lake.layout.block(snapshot, Role.MANIFEST_LIST)))
    (bounds,) = manifest["partitions"]
    assert (b"000", b"003") == (bounds["lower_bound"], bounds["upper_bound"])


def test_garbage_takes_turns_in_the_partitions():
    orphans = [path for path in listed(MockLake(DETAILED, MockChanges()), f"{ROOT}t000001/") if "/orphan-" in path]
    assert [2, 2, 1, 1] == [sum(f"/p={number:03}/" in path for path in orphans) for number in range(4)]


def test_manifests_have_the_statistics_of_as_many_columns_as_asked_for():
    lake = MockLake(replace(DETAILED, broken_share=0), MockChanges())
    (snapshot, *_) = lake.history.snapshots(1)
    (first, *_) = data_files(lake, lake.layout.block(snapshot, Role.MANIFEST))
    assert [1, 2] == [each["key"] for each in first["value_counts"]]
    assert [0, 99] == [int.from_bytes(first[f"{side}_bounds"][0]["value"], "little") for side in ("lower", "upper")]


def test_metadata_names_a_few_earlier_metadata_files():
    lake = MockLake(DETAILED, MockChanges())
    of_main = (snapshot for snapshot in lake.history.snapshots(1) if snapshot.line == 0)
    *_, first, second, last = (lake.layout.path(lake.layout.block(each, Role.METADATA)) for each in of_main)
    log = json.loads(content(lake, last))["metadata-log"]
    assert [first, second] == [each["metadata-file"] for each in log]


def test_a_commit_changes_as_many_tables_as_asked_for():
    repository = MockRepository(DETAILED)
    main = next(repository.references())
    keys = [[each.content_key for each in entry.operations or ()] for entry in repository.commit_log(main)]
    assert DETAILED.commits == len(keys)
    assert [["mock.t000000", "mock.t000000_old"], ["mock.t000000_old", "mock.t000001"]] == keys[:2]


def test_of_so_many_references_one_is_a_branch():
    def kinds(every):
        references = MockRepository(replace(ALL, references=7, branches_every=every)).references()
        return [each.name.partition("-")[0] for each in references]

    assert ["main", "branch", "tag", "tag", "branch", "tag", "tag"] == kinds(3)
    assert ["main", *["tag"] * 6] == kinds(0)
    assert ["main", *["branch"] * 6] == kinds(1)


@pytest.mark.parametrize("cutoff", ["NONE", "1", "5", "2025-01-01T00:00:00Z", "2024-12-31T20:00:00Z"])
def test_the_counts_of_the_oracle_are_those_of_its_paths(lake, cutoff):
    oracle, sizes = MockOracle(lake.spec, cutoff), listed(lake)
    stored = set(sizes)
    live, garbage, counts = set(oracle.live_files()), set(oracle.garbage()), oracle.counts()
    assert (len(stored), len(live & stored), len(garbage)) == (counts.stored, counts.live, counts.garbage)
    assert counts.stored == counts.live + counts.garbage + counts.frozen
    assert len(set(oracle.lost())) == counts.lost
    assert set() == live & garbage
    assert sum(sizes[path] for path in garbage) == counts.garbage_bytes


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
    layout = MockLake(ALL, MockChanges()).layout
    path = layout.path(layout.garbage(0), 1).removeprefix(ROOT)
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
    [
        ("root", "lake"),
        ("root", "mock://"),
        ("root", "mock://lake/"),
        ("format_versions", "4"),
        ("lake", " "),
        ("tables_per_commit", "11"),
    ],
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
