"""SFTP: links, keys of hosts, connections that break, and one server that is not another."""

from __future__ import annotations

import json
import socket
from contextlib import ExitStack

import pytest
from evil_host import evil_host
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.places import place_of
from sftp_server import PASSWORD, sftp_server

from nessie_gc_core.errors import ConfigurationError, ListingError, UnreadableFileError
from nessie_gc_core.model.files import DeleteStatus, FileReference


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "lake" / "t").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def server(root):
    with sftp_server(root) as running:
        yield running


@pytest.fixture
def arguments(server, tmp_path):
    known = str(server.known_hosts(tmp_path))
    return {
        "host": "127.0.0.1",
        "port": server.port,
        "username": "gc",
        "password": PASSWORD,
        "known_hosts": known,
        "look_for_keys": False,
        "allow_agent": False,
    }


@pytest.fixture
def opened(arguments):
    """Makes connectors with the server's arguments, changed by the test."""
    with ExitStack() as stack:

        def make(connector, **changed):
            given = {name: value for name, value in {**arguments, **changed}.items() if value is not None}
            options = {"properties": {"fsspec.sftp": json.dumps(given)}}
            return stack.enter_context(connector.from_options(options))

        yield make


def paths(lister, location):
    return sorted(file.path for file in lister.list_files(location))


def deleted(deleter, location, path):
    (outcome,) = deleter.delete_files(location, [FileReference(location=location, path=path, size=1)])
    return outcome


def test_the_server_may_be_left_out_of_a_location_or_have_its_port_or_not(opened, root, server):
    (root / "lake/t/a").write_bytes(b"x")
    lister = opened(IcebergFileLister)
    for authority in ("", "127.0.0.1", f"127.0.0.1:{server.port}"):
        assert ["a"] == paths(lister, f"sftp://{authority}/lake/t/")


@pytest.mark.parametrize("location", ["sftp:///lake/link/", "sftp:///lake/link/below/", "sftp:///linked-lake/t/"])
def test_s24_a_location_that_is_reached_through_a_link_is_refused(opened, root, location):
    (root / "lake/t/below").mkdir()
    (root / "lake/link").symlink_to("t")
    (root / "linked-lake").symlink_to("lake")
    lister = opened(IcebergFileLister)
    for listing in (lister.list_files, lambda asked: lister.split_listing(asked, 4)):
        with pytest.raises(ListingError, match="use the link's target"):
            list(listing(location))


def test_s24_a_link_to_a_file_is_a_file_and_only_the_link_goes(opened, root):
    (root / "elsewhere").write_bytes(b"x")
    (root / "lake/t/link").symlink_to(root / "elsewhere")
    (root / "lake/t/broken").symlink_to(root / "nothing")
    lister = opened(IcebergFileLister)
    assert ["link"] == paths(lister, "sftp:///lake/t/")
    assert 1 == lister.take_left_alone()
    assert DeleteStatus.DELETED is deleted(opened(IcebergFileDeleter), "sftp:///lake/t/", "link").status
    assert not (root / "lake/t/link").is_symlink()
    assert (root / "elsewhere").exists()


def test_s22_an_empty_directory_is_not_deleted_as_a_file(opened, root):
    (root / "lake/t/d").mkdir()
    outcome = deleted(opened(IcebergFileDeleter), "sftp:///lake/t/", "d")
    assert (DeleteStatus.FAILED, "it is not a file but a directory") == (outcome.status, outcome.reason)
    assert (root / "lake/t/d").is_dir()


@pytest.mark.parametrize(
    "location", ["sftp:///lake/./t/", "sftp:///lake//t/", "sftp:///lake/../lake/t/", "sftp:////lake/t/"]
)
def test_s04_a_location_in_another_spelling_is_refused(opened, root, location):
    (root / "lake/t/a").write_bytes(b"x")
    with pytest.raises(ListingError, match="fsspec cannot name"):
        paths(opened(IcebergFileLister), location)
    assert DeleteStatus.FAILED is deleted(opened(IcebergFileDeleter), location, "a").status
    assert (root / "lake/t/a").exists()


def test_a_connection_that_broke_is_made_again(opened, root, server):
    (root / "lake/t/a").write_bytes(b"x")
    lister = opened(IcebergFileLister)
    assert ["a"] == paths(lister, "sftp:///lake/t/")
    server.hang_up()
    found = []
    for _ in range(2):
        try:
            found = paths(lister, "sftp:///lake/t/")
        except Exception as error:  # noqa: BLE001 - the call that finds the connection broken may fail
            assert 1 == len(str(error).splitlines())
    assert ["a"] == found
    assert ["gc", "gc"] == server.logins


# ---- whom credentials are shown to ------------------------------------------------------------------------
def test_s28_a_password_is_not_shown_to_a_server_whose_key_is_not_known(opened, server, tmp_path):
    (tmp_path / "empty").write_text("")
    with pytest.raises(ConfigurationError, match="not found in known_hosts") as caught:
        paths(opened(IcebergFileLister, known_hosts=str(tmp_path / "empty")), "sftp:///lake/t/")
    assert server.logins == []
    assert PASSWORD not in str(caught.value)


def test_any_key_is_taken_where_the_configuration_says_so(opened, tmp_path):
    (tmp_path / "empty").write_text("")
    lister = opened(IcebergFileLister, known_hosts=str(tmp_path / "empty"), host_key_policy="auto_add")
    assert [] == paths(lister, "sftp:///lake/t/")


def test_s28_a_password_that_is_refused_is_not_repeated(opened):
    with pytest.raises(ConfigurationError, match="Authentication failed") as caught:
        paths(opened(IcebergFileLister, password="our-secret"), "sftp:///lake/t/")
    assert "our-secret" not in str(caught.value)
    assert "our-secret" not in str(caught.value.__cause__)


@pytest.mark.parametrize(
    "more", [{"passwort": "our-secret"}, {"port": "our-secret"}, {"host_key_policy": "our-secret"}]
)
def test_s28_an_argument_that_is_wrong_is_an_error_that_does_not_repeat_it(opened, more):
    with pytest.raises(ConfigurationError) as caught:
        paths(opened(IcebergFileLister, **more), "sftp:///lake/t/")
    assert 1 == len(str(caught.value).splitlines())
    assert "our-secret" not in str(caught.value)


@pytest.mark.parametrize(
    "authority", ["evil.example", "evil.example:22", "gc@evil.example", "127.0.0.1@evil.example", "gc@127.0.0.1"]
)
def test_s28_another_server_is_never_asked(opened, version_of, monkeypatch, server, authority):
    location = f"sftp://{authority}/lake/t/"
    with evil_host(monkeypatch) as evil:
        lister = opened(IcebergFileLister)
        for ask in (lister.list_files, lambda asked: lister.split_listing(asked, 4)):
            with pytest.raises(ConfigurationError, match="is neither a host of the cloud nor in the configuration"):
                list(ask(location))
        assert DeleteStatus.FAILED is deleted(opened(IcebergFileDeleter), location, "a").status
        with pytest.raises(UnreadableFileError):
            list(opened(IcebergContentToFiles).files(version_of(f"{location}1.metadata.json")))
        assert evil.is_untouched
    assert server.logins == []


def test_s28_a_trusted_server_gets_no_credentials_that_are_for_another(opened, monkeypatch, arguments):
    properties = {"fsspec.sftp": json.dumps(arguments), "nessie-gc.trusted-hosts": "evil.example"}
    with evil_host(monkeypatch) as evil, IcebergFileLister.from_options({"properties": properties}) as lister:
        with pytest.raises(ConfigurationError, match=r"not on the server that fsspec\.sftp is for"):
            paths(lister, "sftp://evil.example/lake/t/")
        assert evil.is_untouched


def test_two_servers_are_two_stores(root, tmp_path, arguments):
    (root / "lake/t/a").write_bytes(b"x")
    other_root = tmp_path / "other"
    (other_root / "lake/t").mkdir(parents=True)
    (other_root / "lake/t/b").write_bytes(b"x")
    with sftp_server(other_root) as other, socket.create_server(("127.0.0.1", 0)):
        known = tmp_path / "both"
        one = (tmp_path / "known_hosts").read_text()
        known.write_text(one + other.known_hosts(tmp_path).read_text())
        port = arguments["port"]
        anywhere = {**arguments, "host": None, "port": None, "known_hosts": str(known)}
        given = {name: value for name, value in anywhere.items() if value is not None}
        trusted = f"127.0.0.1:{port},127.0.0.1:{other.port}"
        properties = {"fsspec.sftp": json.dumps(given), "nessie-gc.trusted-hosts": trusted}
        with IcebergFileLister.from_options({"properties": properties}) as lister:
            assert ["a"] == paths(lister, f"sftp://127.0.0.1:{port}/lake/t/")
            assert ["b"] == paths(lister, f"sftp://127.0.0.1:{other.port}/lake/t/")
        stores = Stores(properties)
        first, second = (stores.of(place_of(f"sftp://127.0.0.1:{p}/lake/t/")) for p in (port, other.port))
        stores.close()
        assert first is not second
