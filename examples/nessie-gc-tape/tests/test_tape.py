from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from nessie_gc_tape import TapeLister

from nessie_gc_core.errors import ListingError
from nessie_gc_core.testing.file_lister import FileListerContract


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
        def put(location: str, path: str, data: bytes) -> None:
            file = tarfile.TarInfo((location + path).removeprefix("tape://A001/"))
            file.size, file.mtime = len(data), int(time.time())
            with tarfile.open(tmp_path / "A001.tar", "a") as archive:
                archive.addfile(file, io.BytesIO(data))

        return put

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
