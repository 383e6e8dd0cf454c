"""S25: a version without a snapshot id keeps all snapshots; staged ones are kept by every version."""

from __future__ import annotations

import re

import pytest
from iceberg_lake import Snapshot, Table
from nessie_gc_iceberg_files import IcebergContentToFiles

from nessie_gc_core.errors import UnreadableFileError


def manifest_list(snapshot_id):
    return f"/wh/t/metadata/snap-{snapshot_id}.avro"


def snapshot(snapshot_id, parent=None, **summary):
    names = {name.replace("_", "-"): value for name, value in summary.items()}
    if "wap" in names:
        names["wap.id"] = names.pop("wap")
    return Snapshot(snapshot_id, manifest_list(snapshot_id), parent=parent, summary=names)


def kept(reader, version):
    """The ids of the snapshots whose manifest lists the version keeps."""
    paths = [file.path for file in reader.files(version) if file.kind == "MANIFEST_LIST"]
    return sorted(int(id_) for path in paths for id_ in re.findall(r"-(-?\d+)\.avro$", path))


STAGED = [snapshot(1), snapshot(2, parent=1), snapshot(3, parent=2, wap="w1")]
LOG = {"snapshot-log": [{"snapshot-id": 1, "timestamp-ms": 1}, {"snapshot-id": 2, "timestamp-ms": 2}]}


@pytest.mark.parametrize("options", [{}, {"ignore_snapshot_refs": True, "ignore_staged_snapshots": True}])
def test_s25_a_version_without_a_snapshot_id_keeps_every_listed_snapshot(put, version_of, options):
    statistics = {1: "/wh/t/1.puffin", 2: "/wh/t/2.puffin"}
    table = Table("/wh/t", snapshots=STAGED, current=2, statistics=statistics, refs={"main": 2})
    version = version_of(put("v1.metadata.json", table.bytes()), None)
    with IcebergContentToFiles.from_options(options) as reader:
        assert [1, 2, 3] == kept(reader, version)
        assert set(statistics.values()) < {file.path for file in reader.files(version)}


@pytest.mark.parametrize("snapshot_id", [-1, -7])
def test_s25_a_version_that_says_that_there_is_none_keeps_what_the_metadata_calls_current(
    reader, put, version_of, snapshot_id
):
    """A table that was replaced by an empty one lists snapshots that policies gave up long ago."""
    gone = [snapshot(1), snapshot(2, parent=1)]
    empty = put("v1.metadata.json", Table("/wh/t", snapshots=gone, extra=LOG).bytes())
    assert [] == kept(reader, version_of(empty, snapshot_id))
    odd = put("v2.metadata.json", Table("/wh/t", snapshots=STAGED, current=2, extra=LOG).bytes())
    assert [2, 3] == kept(reader, version_of(odd, snapshot_id))


def test_s25_a_version_that_names_a_listed_snapshot_keeps_it_whatever_its_id(reader, put, version_of):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=[snapshot(-5), snapshot(2)], current=2, extra=LOG).bytes())
    assert [-5] == kept(reader, version_of(path, -5))


@pytest.mark.parametrize("current", [{}, {"current-snapshot-id": None}])
def test_s25_so_does_one_whose_table_has_no_current_snapshot(reader, put, version_of, current):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=STAGED, extra=current).bytes())
    assert [1, 2, 3] == kept(reader, version_of(path))


def test_s25_a_staged_snapshot_is_kept_by_every_version_whose_metadata_lists_it(reader, put, version_of):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=STAGED, current=2, extra=LOG).bytes())
    assert [2, 3] == kept(reader, version_of(path, 2))
    assert [1, 3] == kept(reader, version_of(path, 1))


def test_s25_its_statistics_are_kept_too(reader, put, version_of):
    table = Table("/wh/t", snapshots=STAGED, current=2, statistics={1: "/wh/t/1.puffin", 3: "/wh/t/3.puffin"})
    paths = {file.path for file in reader.files(version_of(put("v1.metadata.json", table.bytes()), 2))}
    assert "/wh/t/3.puffin" in paths
    assert "/wh/t/1.puffin" not in paths


def test_s25_an_option_gives_staged_snapshots_up(put, version_of):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=STAGED, current=2).bytes())
    with IcebergContentToFiles.from_options({"ignore_staged_snapshots": "true"}) as reader:
        assert [2] == kept(reader, version_of(path, 2))


def test_s25_staged_in_a_table_of_version_1_or_without_a_current_snapshot(reader, put, version_of):
    fields = {"refs": None, "snapshot-log": None}
    old = put("v1.metadata.json", Table("/wh/t", version=1, snapshots=STAGED, current=2, extra=fields).bytes())
    assert [2, 3] == kept(reader, version_of(old, 2))
    first = put("v2.metadata.json", Table("/wh/t", snapshots=[snapshot(3, wap="w1")]).bytes())
    assert [3] == kept(reader, version_of(first, -1))


@pytest.mark.parametrize(
    ("more", "extra"),
    [
        ([snapshot(4, parent=3)], {"current-snapshot-id": 4}),
        ([snapshot(4, parent=3), snapshot(5, parent=4)], {"refs": {"b": {"snapshot-id": 5, "type": "branch"}}}),
        ([snapshot(4, parent=2, source_snapshot_id="3", published_wap_id="w1")], {}),
        ([snapshot(4, parent=2, published_wap_id="w1")], {}),
        ([], {"snapshot-log": [{"snapshot-id": 3, "timestamp-ms": 1}]}),
    ],
    ids=["an ancestor", "an ancestor of a branch", "picked", "picked by an old writer", "shown once"],
)
def test_s25_a_published_snapshot_is_like_any_other(reader, put, version_of, more, extra):
    table = Table("/wh/t", snapshots=[*STAGED, *more], current=2, extra=extra)
    assert 3 not in kept(reader, version_of(put("v1.metadata.json", table.bytes()), 2))


@pytest.mark.parametrize(
    "more",
    [
        [snapshot(4, parent=2, source_snapshot_id="9", published_wap_id="w1")],
        [snapshot(4, parent=2, published_wap_id="w2")],
        [snapshot(4, parent=2, wap="w1")],
    ],
    ids=["picked from another with this id", "another id was published", "another is staged with this id"],
)
def test_s25_in_doubt_it_is_not_published(reader, put, version_of, more):
    table = Table("/wh/t", snapshots=[*STAGED, *more], current=2)
    assert 3 in kept(reader, version_of(put("v1.metadata.json", table.bytes()), 2))


def test_s25_a_snapshot_that_nobody_staged_and_nothing_holds_can_go(reader, put, version_of):
    table = Table("/wh/t", snapshots=[*STAGED[:2], snapshot(3, parent=1)], current=2)
    assert [2] == kept(reader, version_of(put("v1.metadata.json", table.bytes()), 2))


@pytest.mark.parametrize(
    "spoiled", [{"snapshot-log": {}}, {"snapshot-log": [1]}, {"snapshots": [{"snapshot-id": "3"}]}]
)
def test_s25_metadata_that_does_not_say_is_unreadable(reader, put, version_of, spoiled):
    path = put("v1.metadata.json", Table("/wh/t", snapshots=STAGED, current=2, extra=spoiled).bytes())
    with pytest.raises(UnreadableFileError):
        kept(reader, version_of(path, 2))
