"""HDFS through WebHDFS, on a real cluster: what it does with names, links, directories, times and the trash."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from hdfs_store import USER, HdfsFiles
from nessie_gc_iceberg_files import IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.places import place_of
from scripted_name_node import node, on_standby

from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.files import DeleteStatus, FileReference
from nessie_gc_core.testing.servers import free_ports

pytestmark = [pytest.mark.server, pytest.mark.thorough]
COMPOSED, DECOMPOSED = "nf-\u00e9", "nf-e\u0301"


@pytest.fixture
def hdfs(hdfs_server):
    """A folder of the cluster: its location, its key, and back doors."""
    host, _, port = hdfs_server.http_address.partition(":")
    key = f"t{uuid.uuid4().hex[:8]}/"
    files = HdfsFiles(hdfs_server)
    yield SimpleNamespace(
        files=files,
        key=key,
        location=f"webhdfs://{host}:{port}/{key}",
        properties={"fsspec.webhdfs": json.dumps({"host": host, "port": int(port), "user": USER})},
    )
    files.close()


@pytest.fixture
def store(hdfs):
    stores = Stores(hdfs.properties)
    yield stores.of(place_of(hdfs.location))
    stores.close()


def listed(hdfs, location=None):
    with IcebergFileLister.from_options({"properties": hdfs.properties}) as lister:
        return list(lister.list_files(location or hdfs.location))


def outcome(hdfs, path):
    file = FileReference(location=hdfs.location, path=path, size=1)
    with IcebergFileDeleter.from_options({"properties": hdfs.properties}) as deleter:
        (found,) = deleter.delete_files(hdfs.location, [file])
        return found


def test_s04_a_file_is_never_read_in_place_of_another_whose_name_looks_the_same(hdfs, store):
    for name in (COMPOSED, DECOMPOSED):
        hdfs.files.put(f"{hdfs.key}d/{name}/f", name.encode())
    assert {f"d/{COMPOSED}/f", f"d/{DECOMPOSED}/f"} == {file.path for file in listed(hdfs)}
    assert COMPOSED.encode() == store.read(f"{hdfs.key}d/{COMPOSED}/f")
    with pytest.raises(OSError, match="would open another name"):
        store.read(f"{hdfs.key}d/{DECOMPOSED}/f")
    with pytest.raises(OSError, match="would open another name"):
        store.create(f"{hdfs.key}d/{DECOMPOSED}/g", b"x")

    assert DeleteStatus.DELETED is outcome(hdfs, f"d/{DECOMPOSED}/f").status
    assert [f"d/{COMPOSED}/f"] == [file.path for file in listed(hdfs)]


def test_a_time_is_that_of_the_name_node_to_the_millisecond(hdfs):
    hdfs.files.put(f"{hdfs.key}a", b"x")
    hdfs.files.set_time(f"{hdfs.key}a", 1_700_000_000_123)
    (file,) = listed(hdfs)
    assert datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC) == file.modified


def test_a_deleted_file_is_not_in_the_trash(hdfs):
    hdfs.files.put(f"{hdfs.key}a", b"x")
    assert DeleteStatus.DELETED is outcome(hdfs, "a").status
    assert [] == hdfs.files.keys(hdfs.key)
    assert not hdfs.files.is_directory(f"user/{USER}/.Trash")


def test_s22_an_empty_directory_is_not_deleted_as_a_file(hdfs):
    hdfs.files.put_directory(f"{hdfs.key}d")
    found = outcome(hdfs, "d")
    assert (DeleteStatus.FAILED, "it is not a file but a directory") == (found.status, found.reason)
    assert hdfs.files.is_directory(f"{hdfs.key}d")


def test_s24_links_are_left_alone_and_no_location_leads_through_one(hdfs):
    hdfs.files.put(f"{hdfs.key}d/file", b"x")
    hdfs.files.put_link(f"{hdfs.key}link", f"/{hdfs.key}d")
    assert ["d/file"] == [file.path for file in listed(hdfs)]
    for location in ("link/", "link/below/"):
        with pytest.raises(ListingError, match="use the link's target"):
            listed(hdfs, hdfs.location + location)
    for path in ("link", "link/file"):
        assert DeleteStatus.FAILED is outcome(hdfs, path).status
    assert {f"{hdfs.key}d/file", f"{hdfs.key}link"} == set(hdfs.files.keys(hdfs.key))


def test_a_file_that_may_not_be_deleted_is_named_with_the_reason(hdfs):
    hdfs.files.put(f"{hdfs.key}d/a", b"x")
    hdfs.files.forbid(f"{hdfs.key}d", "555")
    found = outcome(hdfs, "d/a")
    assert DeleteStatus.FAILED is found.status
    assert "Permission denied" in (found.reason or "")


def test_a_new_file_never_replaces_another(hdfs, store):
    store.create(f"{hdfs.key}new", b"first")
    with pytest.raises(FileExistsError):
        store.create(f"{hdfs.key}new", b"second")
    with pytest.raises(FileExistsError):
        store._write(f"/{hdfs.key}new", b"second")  # where another process was quicker
    assert b"first" == store.read(f"{hdfs.key}new") == hdfs.files.read(f"{hdfs.key}new")


# ---- with the configuration files of Hadoop's clients -----------------------------------------------------
def test_a_location_on_a_name_service_is_collected_as_hadoops_files_say(hdfs, hdfs_server, tmp_path, monkeypatch):
    with node(on_standby) as standby:
        site = {
            "dfs.nameservices": "lakes",
            "dfs.ha.namenodes.lakes": "nn1,nn2,nn3",
            "dfs.namenode.rpc-address.lakes.nn3": hdfs_server.rpc_address,
            "dfs.namenode.http-address.lakes.nn1": f"127.0.0.1:{free_ports(1)[0]}",  # where nobody is
            "dfs.namenode.http-address.lakes.nn2": standby.address,
            "dfs.namenode.http-address.lakes.nn3": hdfs_server.http_address,
        }
        monkeypatch.setenv("HADOOP_CONF_DIR", str(hdfs_server.write_configuration(tmp_path / "conf", site)))
        monkeypatch.setenv("HADOOP_USER_NAME", USER)
        hdfs.properties = {}
        for number, authority in enumerate(("lakes", "", hdfs_server.rpc_address)):
            hdfs.location = f"hdfs://{authority}/{hdfs.key}"
            hdfs.files.put(f"{hdfs.key}d/a b%20c#{number}", b"x")
            assert [f"d/a b%20c#{number}"] == [file.path for file in listed(hdfs)]
            assert b"x" == read(hdfs, f"d/a b%20c#{number}")
            assert DeleteStatus.DELETED is outcome(hdfs, f"d/a b%20c#{number}").status
            assert [] == hdfs.files.keys(hdfs.key)
        assert standby.asked


def test_rights_are_those_of_the_user_that_the_environment_names(hdfs, hdfs_server, tmp_path, monkeypatch):
    hdfs.properties = {"hdfs.conf-dir": str(hdfs_server.write_configuration(tmp_path / "conf"))}
    hdfs.location = f"{hdfs_server.uri}{hdfs.key}"
    hdfs.files.put(f"{hdfs.key}a", b"x")
    hdfs.files.forbid(hdfs.key, "755")
    monkeypatch.setenv("HADOOP_USER_NAME", "nobody")
    found = outcome(hdfs, "a")
    assert DeleteStatus.FAILED is found.status
    assert "user=nobody" in (found.reason or "")


def read(hdfs, path):
    stores = Stores(hdfs.properties)
    place = place_of(hdfs.location + path)
    try:
        return stores.of(place).read(place.key)
    finally:
        stores.close()
