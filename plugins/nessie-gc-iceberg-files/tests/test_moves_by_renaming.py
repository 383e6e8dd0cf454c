"""Moves on servers with folders: links, who was quicker, and gateways that rename in another way."""

from __future__ import annotations

import json

import pytest
from nessie_gc_iceberg_files import IcebergFileDeleter
from scripted_name_node import Answer, exception, node
from sftp_server import PASSWORD, sftp_server

from nessie_gc_core.model.quarantine import FileMove, MoveStatus

FILE = Answer(body=json.dumps({"FileStatus": {"type": "FILE", "length": 1, "pathSuffix": ""}}).encode())
FOLDER = Answer(body=json.dumps({"FileStatus": {"type": "DIRECTORY", "length": 0, "pathSuffix": ""}}).encode())
NOTHING = exception(404, "FileNotFoundException", "File does not exist")
DONE = Answer()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "root" / "t").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def sftp(root, tmp_path):
    with sftp_server(root) as server:
        known = str(server.known_hosts(tmp_path))
        given = {"host": "127.0.0.1", "port": server.port, "username": "gc", "password": PASSWORD, "known_hosts": known}
        with IcebergFileDeleter.from_options({"properties": {"fsspec.sftp": json.dumps(given)}}) as deleter:
            yield deleter


def moved(deleter, location, to, path="a"):
    (outcome,) = deleter.move_files(location, to, [FileMove(path=path, to_path=f"run/{path}")])
    return outcome


def test_s24_a_link_to_a_file_is_moved_as_a_link(sftp, root):
    (root / "elsewhere").write_bytes(b"x")
    (root / "t/a").symlink_to(root / "elsewhere")
    assert MoveStatus.MOVED is moved(sftp, "sftp:///t/", "sftp:///held/").status
    assert (root / "held/run/a").is_symlink()
    assert (root / "elsewhere").read_bytes() == b"x"


def test_s24_a_quarantine_that_is_reached_through_a_link_gets_nothing(sftp, root):
    (root / "t/a").write_bytes(b"x")
    (root / "elsewhere").mkdir()
    (root / "held").symlink_to("elsewhere")
    outcome = moved(sftp, "sftp:///t/", "sftp:///held/")
    assert outcome.status is MoveStatus.FAILED
    assert "is reached through the link '/held'" in outcome.reason
    assert ([], True) == ([*(root / "elsewhere").iterdir()], (root / "t/a").exists())


def test_s15_a_directory_at_the_new_path_is_not_entered(sftp, root):
    (root / "t/a").write_bytes(b"x")
    (root / "held/run/a").mkdir(parents=True)
    assert MoveStatus.EXISTS is moved(sftp, "sftp:///t/", "sftp:///held/").status
    assert ([], True) == ([*(root / "held/run/a").iterdir()], (root / "t/a").exists())


class NameNode:
    """A file ``/t/a``, and what is said to a request to rename it."""

    def __init__(self, said, *, moves):
        self.said, self.moves, self.where = said, moves, "/t/a"

    def __call__(self, path):
        path, _, query = path.partition("?")
        path = path.removeprefix("/webhdfs/v1")
        if "op=RENAME" in query:
            if self.moves:
                self.where = "/held/run/a"
            return self.said
        if path == self.where:
            return FILE
        return FOLDER if path in ("/t", "/held", "/held/run") else DONE if "op=MKDIRS" in query else NOTHING

    def move(self):
        with node(self) as running:
            host, port = running.address.split(":")
            given = {"properties": {"fsspec.webhdfs": json.dumps({"host": host, "port": int(port), "user": "gc"})}}
            with IcebergFileDeleter.from_options(given) as deleter:
                return moved(deleter, f"webhdfs://{running.address}/t/", f"webhdfs://{running.address}/held/")


def test_s15_a_renaming_that_was_done_before_it_was_asked_for_again_has_moved_the_file():
    assert MoveStatus.MOVED is NameNode(NOTHING, moves=True).move().status


def test_s15_a_name_that_was_taken_meanwhile_is_a_failure_and_the_file_stays():
    taken = exception(403, "FileAlreadyExistsException", "rename destination exists")
    name_node = NameNode(taken, moves=False)
    outcome = name_node.move()
    assert (MoveStatus.FAILED, "/t/a") == (outcome.status, name_node.where)
    assert outcome.reason == "there is a file or a directory at the path"


def test_a_gateway_that_says_it_did_not_rename_is_believed():
    outcome = NameNode(Answer(body=b'{"boolean": false}'), moves=False).move()
    assert (MoveStatus.FAILED, "the server did not rename it") == (outcome.status, outcome.reason)


def test_s15_a_file_that_a_gateway_puts_elsewhere_is_a_failure_with_both_names():
    outcome = NameNode(Answer(body=b'{"boolean": true}'), moves=False).move()
    assert (MoveStatus.FAILED, "it is not at /held/run/a after it was renamed: look for it there") == (
        outcome.status,
        outcome.reason,
    )
