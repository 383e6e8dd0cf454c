"""Computed lakes whose files are written to a folder, and whose commits are records for a real repository."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

import pytest
from nessie_gc_memory.mock import MockChanges, MockLake, MockLakeSpec, MockRepository, commit_records, write_lake

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.repository import ReferenceKind

LAKE = MockLakeSpec(
    lake="written",
    content_type="ICEBERG_TABLE",
    references=5,
    branches_every=2,
    commits=20,
    branch_commits=3,
    table_count=3,
    files_per_commit=3,
    partitions=2,
    garbage_files=3,
    format_versions=("1", "2", "3"),
    deletes_every=2,
    statistics_every=3,
    missing_share=0.1,
    broken_share=0.2,
)


def written(spec, folder):
    """The path, size and modification time of every file."""
    return {
        f"{spec.root}/{path.relative_to(folder).as_posix()}": (path.stat().st_size, path.stat().st_mtime)
        for path in folder.rglob("*")
        if path.is_file()
    }


def listed(lake):
    return {
        f"{lake.spec.root}/{path}": (each.size, modified.timestamp())
        for each in lake.listing(f"{lake.spec.root}/")
        for path, modified in zip(each.paths, each.modified, strict=True)
    }


def test_a_folder_has_the_files_of_a_listing(tmp_path):
    lake = MockLake(LAKE, MockChanges())
    count = write_lake(lake, tmp_path / "lake")
    assert listed(lake) == written(LAKE, tmp_path / "lake")
    assert len(listed(lake)) == count


def test_files_that_are_read_have_their_contents(tmp_path):
    lake = MockLake(LAKE, MockChanges())
    write_lake(lake, tmp_path / "lake")
    read = [path for path in listed(lake) if path.endswith((".json", ".avro"))]
    assert len(read) > 70
    assert {path: lake.content(path) for path in read} == {
        path: (tmp_path / "lake" / path.removeprefix(f"{LAKE.root}/")).read_bytes() for path in read
    }


def test_files_that_are_not_read_take_no_space(tmp_path):
    lake = MockLake(replace(LAKE, file_bytes=50_000_000), MockChanges())
    write_lake(lake, tmp_path / "lake")
    stored = [path for path in (tmp_path / "lake").rglob("*") if path.is_file() and path.stat().st_size >= 50_000_000]
    assert {".avro", ".parquet", ".puffin", ".stats"} == {path.suffix for path in stored}
    assert [] == [path for path in stored if path.stat().st_blocks]


def test_changes_of_a_lake_are_written_as_well(tmp_path):
    spec, changes = replace(LAKE, garbage_files=5), MockChanges()
    layout = MockLake(spec, changes).layout
    deleted, left = (layout.path(layout.garbage(2), index) for index in (0, 1))
    changes.put(f"{LAKE.root}/t000001/data/ours.parquet", b"ours")
    changes.delete([deleted])
    write_lake(MockLake(spec, changes), tmp_path / "lake")
    data = tmp_path / "lake" / "t000001" / "data"
    assert b"ours" == (data / "ours.parquet").read_bytes()
    assert [left.rpartition("/")[2]] == [path.name for path in (data / "p=000").glob("orphan-*")]


def test_a_folder_that_exists_is_left_alone(tmp_path):
    with pytest.raises(ConfigurationError, match=f"{tmp_path} cannot be written: File exists; name a new folder"):
        write_lake(MockLake(LAKE, MockChanges()), tmp_path)
    assert [] == list(tmp_path.iterdir())


# ---- commits ------------------------------------------------------------------------------------------
def replayed(spec):
    """The commits of every reference, oldest first, each with the metadata locations by key."""
    logs: dict[str, list[dict[str, str]]] = {"main": []}
    for record in json.loads(json.dumps(list(commit_records(spec)))):
        if "create" in record:
            logs[record["create"]] = list(logs[record["from"]])
        else:
            put = {".".join(each["key"]): each["content"]["metadataLocation"] for each in record["contents"]}
            logs[record["commit"]].append(put)
    return logs


@pytest.mark.parametrize(
    "spec",
    [
        LAKE,
        replace(LAKE, tables_per_commit=2),
        replace(LAKE, branches_every=1, branch_commits=0),
        replace(LAKE, commits=2, references=9),
    ],
    ids=["a table each", "two tables each", "empty branches", "more references than commits"],
)
def test_commits_that_are_put_one_after_the_other_make_the_history_of_the_lake(spec):
    repository, logs = MockRepository(spec), replayed(spec)
    expected = {
        reference.name: [
            {each.content_key: each.content and each.content.metadata_location for each in entry.operations or ()}
            for entry in repository.commit_log(reference)
        ][::-1]
        for reference in repository.references()
    }
    assert expected == logs


def test_a_reference_is_created_as_what_it_is():
    kinds = {record["create"]: record["type"] for record in commit_records(LAKE) if "create" in record}
    others = [reference for reference in MockRepository(LAKE).references() if reference.name != "main"]
    assert {each.name: each.kind for each in others} == {name: ReferenceKind(kind) for name, kind in kinds.items()}


def test_a_commit_puts_a_content_as_nessie_spells_it():
    contents = defaultdict(list)
    for record in commit_records(LAKE):
        for each in record.get("contents", ()):
            contents[tuple(each["key"])].append(each["content"])
    assert [("mock", name) for name in ("t000000", "t000000_old", "t000001")] == sorted(contents)
    (first, *_) = contents["mock", "t000000"]
    content = MockLake(LAKE, MockChanges()).content(first.pop("metadataLocation"))
    assert content is not None
    assert json.loads(content)["current-snapshot-id"] == first.pop("snapshotId")
    assert {"type": "ICEBERG_TABLE", "schemaId": 0, "specId": 0, "sortOrderId": 0} == first


def test_a_type_that_no_repository_knows_is_not_committed():
    with pytest.raises(ConfigurationError, match=r"type MOCK_TABLE cannot be committed: .* content_type=ICEBERG_TABLE"):
        commit_records(MockLakeSpec())
