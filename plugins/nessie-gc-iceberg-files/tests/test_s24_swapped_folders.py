"""S24: a folder above a location that became a link after the listing is followed by nobody, at no level."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nessie_gc_iceberg_files import IcebergFileDeleter, IcebergFileLister
from sftp_server import PASSWORD, sftp_server

from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.files import DeleteOutcome, FileReference
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus

BEHIND_A_LINK = "a parent directory is a symbolic link or not a directory"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Two tables with a file of the same name, in folders of their own."""
    for name in ("victim", "other"):
        (tmp_path / "wh" / name / "db/t/data").mkdir(parents=True)
        (tmp_path / "wh" / name / "db/t/data/a.parquet").write_text(name)
    return tmp_path


def swap(lake: Path, level: str) -> None:
    """A folder of the other table becomes a link to that of the victim."""
    folder = lake / "wh/other" / level
    folder.rename(lake / "wh/real")
    folder.symlink_to(lake / "wh/victim" / level, target_is_directory=True)


@pytest.fixture(params=["", "db", "db/t", "db/t/data"])
def swapped(lake: Path, request: pytest.FixtureRequest) -> Path:
    swap(lake, request.param)
    return lake


@pytest.fixture
def deleter() -> Iterator[IcebergFileDeleter]:
    with IcebergFileDeleter.from_options({}) as deleter:
        yield deleter


def other(lake: Path) -> str:
    return f"file://{lake}/wh/other/db/t/"


def deleted(deleter: IcebergFileDeleter, location: str) -> DeleteOutcome:
    (outcome,) = deleter.delete_files(location, [FileReference(location=location, path="data/a.parquet", size=5)])
    return outcome


def moved(deleter: IcebergFileDeleter, location: str, to: str) -> MoveOutcome:
    (outcome,) = deleter.move_files(location, to, [FileMove(path="data/a.parquet", to_path="data/a.parquet")])
    return outcome


def victim_is_whole(lake: Path) -> bool:
    return [Path("a.parquet")] == [path.relative_to(lake / "wh/victim/db/t/data") for path in files(lake)]


def files(lake: Path) -> list[Path]:
    return [path for path in (lake / "wh/victim").rglob("*") if path.is_file()]


def test_s24_nothing_is_deleted_through_a_folder_that_became_a_link(swapped: Path, deleter: IcebergFileDeleter) -> None:
    outcome = deleted(deleter, other(swapped))
    assert ("FAILED", BEHIND_A_LINK) == (outcome.status, outcome.reason)
    assert victim_is_whole(swapped)


def test_s24_nothing_is_moved_out_of_a_folder_that_became_a_link(swapped: Path, deleter: IcebergFileDeleter) -> None:
    outcome = moved(deleter, other(swapped), f"file://{swapped}/held/")
    assert (MoveStatus.FAILED, BEHIND_A_LINK) == (outcome.status, outcome.reason)
    assert victim_is_whole(swapped)


@pytest.mark.parametrize("level", ["", "db", "db/t", "db/t/data"])
def test_s24_nothing_is_restored_into_a_folder_that_became_a_link(
    lake: Path, deleter: IcebergFileDeleter, level: str
) -> None:
    held = f"file://{lake}/held/"
    assert MoveStatus.MOVED is moved(deleter, other(lake), held).status
    (lake / "wh/victim/db/t/data/a.parquet").rename(lake / "wh/victim/db/t/data/b.parquet")
    swap(lake, level)
    assert MoveStatus.FAILED is moved(deleter, held, other(lake)).status
    assert ["b.parquet"] == [path.name for path in files(lake)]
    assert (lake / "held/data/a.parquet").exists()


@pytest.mark.parametrize("level", ["held", "held/data"])
def test_s24_nothing_is_purged_from_a_quarantine_that_became_a_link(
    lake: Path, deleter: IcebergFileDeleter, level: str
) -> None:
    assert MoveStatus.MOVED is moved(deleter, other(lake), f"file://{lake}/held/").status
    (lake / level).rename(lake / "real")
    (lake / level).symlink_to(lake / "wh/victim/db/t" / level.removeprefix("held").lstrip("/"))
    assert "FAILED" == deleted(deleter, f"file://{lake}/held/").status
    assert victim_is_whole(lake)


@pytest.mark.parametrize("level", ["", "db", "db/t"])
def test_s24_no_directory_is_removed_through_a_folder_that_became_a_link(
    lake: Path, deleter: IcebergFileDeleter, level: str
) -> None:
    for path in (lake / "wh").rglob("*.parquet"):
        path.unlink()
    assert deleter.is_empty_directory(other(lake))
    swap(lake, level)
    assert (False, False) == (deleter.is_empty_directory(other(lake)), deleter.remove_empty_directory(other(lake)))
    assert (lake / "wh/victim/db/t/data").is_dir()


@pytest.mark.parametrize("level", ["", "db", "db/t"])
def test_s24_nothing_is_listed_or_looked_up_through_a_folder_that_became_a_link(lake: Path, level: str) -> None:
    swap(lake, level)
    with IcebergFileLister.from_options({}) as lister:
        calls: list[Callable[[], object]] = [
            lambda: list(lister.list_files(other(lake))),
            lambda: list(lister.look_up(other(lake), ["data/a.parquet"])),
        ]
        for call in calls:
            with pytest.raises(ListingError, match="symbolic link: use its target"):
                call()


def test_s24_doubled_slashes_and_dots_in_a_location_are_no_links(lake: Path, deleter: IcebergFileDeleter) -> None:
    location = f"file://{lake}//wh/./other//db/t/"
    with IcebergFileLister.from_options({}) as lister:
        assert ["data/a.parquet"] == [file.path for file in lister.list_files(location)]
    assert "DELETED" == deleted(deleter, location).status


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_above_a_location_that_may_be_entered_and_not_listed_is_on_the_way(
    lake: Path, deleter: IcebergFileDeleter
) -> None:
    (lake / "wh").chmod(0o311)
    try:
        assert "DELETED" == deleted(deleter, other(lake)).status
    finally:
        (lake / "wh").chmod(0o755)


def test_s24_nothing_is_deleted_or_moved_on_a_server_through_a_folder_that_became_a_link(lake: Path) -> None:
    swap(lake, "db")
    (lake / "wh/other/db").unlink()
    (lake / "wh/other/db").symlink_to("../victim/db")
    with sftp_server(lake) as server:
        known = str(server.known_hosts(lake))
        given = {"host": "127.0.0.1", "port": server.port, "username": "gc", "password": PASSWORD, "known_hosts": known}
        with IcebergFileDeleter.from_options({"properties": {"fsspec.sftp": json.dumps(given)}}) as deleter:
            location = "sftp:///wh/other/db/t/"
            assert "a parent directory is a link or not a directory" == deleted(deleter, location).reason
            assert "a parent directory is a link or not a directory" == moved(deleter, location, "sftp:///held/").reason
    assert victim_is_whole(lake)
