"""Cross-check with pyiceberg: what it says a real table reaches is what we find."""

from __future__ import annotations

import subprocess
import sys

import pyarrow as pa
import pytest
from nessie_gc_iceberg_files import IcebergContentToFiles
from pyiceberg.catalog.sql import SqlCatalog

from nessie_gc_core.model.files import FileReference


@pytest.fixture
def table(tmp_path):
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/wh")
    catalog.create_namespace("db")
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "day": ["a", "b", "a"]})
    table = catalog.create_table("db.t", schema=rows.schema)
    for _ in range(3):
        table.append(rows)
    table.delete("id = 2")
    table.append(rows)
    yield table
    catalog.close()


def reached(reader, version):
    """Every file that a version reaches, as the engines walk it: each expandable file once."""
    seen, waiting = set(), list(reader.files(version))
    while waiting:
        file = waiting.pop()
        if file.path not in seen:
            seen.add(file.path)
            waiting.extend(reader.expand(file) if file.kind in reader.expandable_kinds else ())
    return seen


def expected_files(table, snapshot):
    io = table.io
    found = {table.metadata_location, snapshot.manifest_list}
    for manifest in snapshot.manifests(io):
        found.add(manifest.manifest_path)
        found.update(e.data_file.file_path for e in manifest.fetch_manifest_entry(io, discard_deleted=True))
    return found


def test_we_reach_the_files_that_pyiceberg_reaches(reader, table, version_of):
    expected = expected_files(table, table.current_snapshot())
    files = table.inspect.files()["file_path"].to_pylist()
    assert set(files) <= expected
    assert expected == reached(reader, version_of(table.metadata_location, table.current_snapshot().snapshot_id))


def test_s25_without_a_snapshot_id_we_reach_what_pyiceberg_says_of_all_snapshots(reader, table, version_of):
    expected = set().union(*(expected_files(table, snapshot) for snapshot in table.snapshots()))
    assert len(table.snapshots()) > 4
    assert expected == reached(reader, version_of(table.metadata_location))


def test_every_older_snapshot_reaches_what_pyiceberg_says(table, version_of):
    with IcebergContentToFiles.from_options({"ignore_snapshot_refs": True}) as reader:
        for snapshot in table.snapshots():
            version = version_of(table.metadata_location, snapshot.snapshot_id)
            assert expected_files(table, snapshot) == reached(reader, version)


def test_all_that_is_listed_and_not_reached_can_go_and_the_table_still_reads(
    reader, lister, deleter, table, version_of
):
    before = table.scan().to_arrow().sort_by("id")
    location = table.metadata.location + "/"
    live = reached(reader, version_of(table.metadata_location))
    garbage = [file for file in lister.list_files(location) if location + file.path not in live]
    assert len(garbage) > 3
    assert {"DELETED"} == {outcome.status for outcome in deleter.delete_files(location, garbage)}
    assert live == {location + file.path for file in lister.list_files(location)}
    assert before == table.refresh().scan().to_arrow().sort_by("id")


@pytest.mark.parametrize("implementation", ["pyiceberg.io.fsspec.FsspecFileIO", "pyiceberg.io.pyarrow.PyArrowFileIO"])
def test_the_file_io_that_is_asked_for_is_used(table, version_of, implementation):
    options = {"properties": {"py-io-impl": implementation}}
    with IcebergContentToFiles.from_options(options) as reader:
        expected = expected_files(table, table.current_snapshot())
        assert expected == reached(reader, version_of(table.metadata_location, table.current_snapshot().snapshot_id))


def test_a_file_io_of_the_users_own_reads_schemes_of_its_own(table, version_of):
    options = {"properties": {"py-io-impl": "vault_file_io.VaultFileIO"}}
    with IcebergContentToFiles.from_options(options) as reader:
        path = table.metadata_location.replace("file:", "vault:")
        assert path in {file.path for file in reader.files(version_of(path))}


def test_local_files_need_no_pyiceberg(table):
    code = (
        "import sys; from nessie_gc_iceberg_files import *;"
        "from nessie_gc_core.model.repository import ContentVersion as V;"
        "v = V(content_id='', content_type='ICEBERG_TABLE', metadata_location=sys.argv[1], snapshot_id=None,"
        " content_key='', commit_id='');"
        "list(IcebergContentToFiles.from_options({}).files(v));"
        "list(IcebergFileLister.from_options({}).list_files('/nothing/'));"
        "assert not {'pyiceberg', 'boto3', 'fsspec'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, table.metadata_location], check=True)


def test_file_references_of_a_listing_carry_the_location(lister, table):
    location = table.metadata.location + "/"
    assert all(isinstance(f, FileReference) and f.location == location for f in lister.list_files(location))
