from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from nessie_gc_tape import TapeLister

from nessie_gc_core.errors import ListingError
from nessie_gc_core.testing.file_lister import FileListerContract


def add(shelf: Path, path: str, kind: bytes, target: str = "", data: bytes = b"") -> None:
    """The back door: writes a file, a folder or a link to the end of the tape."""
    file = tarfile.TarInfo(path.removeprefix("tape://A001/"))
    file.type, file.linkname = kind, target.removeprefix("tape://A001/")
    file.size, file.mtime = len(data), int(time.time())
    with tarfile.open(shelf / "A001.tar", "a") as archive:
        archive.addfile(file, io.BytesIO(data))


class TestTapeLister(FileListerContract):
    @pytest.fixture
    def open_lister(self, tmp_path: Path) -> Callable[[], TapeLister]:
        return lambda: TapeLister.from_options({"shelf": str(tmp_path)})

    @pytest.fixture
    def location(self, tmp_path: Path) -> str:
        tarfile.open(tmp_path / "A001.tar", "w").close()
        return "tape://A001/lake/db/t/"

    @pytest.fixture
    def put_file(self, tmp_path: Path) -> Callable[[str, str, bytes], None]:
        return lambda location, path, data: add(tmp_path, location + path, tarfile.REGTYPE, data=data)

    @pytest.fixture
    def put_directory(self, tmp_path: Path) -> Callable[[str, str], None]:
        return lambda location, path: add(tmp_path, location + path, tarfile.DIRTYPE)

    @pytest.fixture
    def put_link(self, tmp_path: Path) -> Callable[[str, str, str], None]:
        return lambda location, path, target: add(tmp_path, location + path, tarfile.SYMTYPE, target)

    @pytest.fixture
    def unlistable(self, tmp_path: Path) -> Callable[[str], str]:
        """A tape that is truncated in the middle of its second file."""

        def tear(location: str) -> str:
            for name in ("first", "second"):
                add(tmp_path, f"{location}{name}", tarfile.REGTYPE)
            os.truncate(tmp_path / "A001.tar", tarfile.BLOCKSIZE + 100)
            return location

        return tear

    @pytest.fixture
    def many(self) -> int:
        return 50  # a tape has no pages

    def test_a_file_that_was_written_twice_is_listed_once(self, lister, location, put_file) -> None:
        put_file(location, "a", b"old")
        put_file(location, "a", b"newer")
        assert [("a", 5)] == [(file.path, file.size) for file in lister.list_files(location)]


def test_a_tape_that_is_not_there_is_an_error_and_not_an_empty_one(tmp_path: Path) -> None:
    lister = TapeLister.from_options({"shelf": str(tmp_path)})
    with pytest.raises(ListingError, match="cannot read the tape 'B002'"):
        list(lister.list_files("tape://B002/lake/"))
