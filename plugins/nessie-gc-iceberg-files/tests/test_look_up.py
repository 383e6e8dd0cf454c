from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nessie_gc_iceberg_files import IcebergFileLister, stores
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile

from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.files import DeleteOutcome
from nessie_gc_core.model.unpacking import Limit

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Keys(Store):
    """Keys in a list, which counts what it gave away."""

    def __init__(self, *keys: str) -> None:
        self.keys = keys
        self.given = 0

    def files(self, prefix: str) -> Iterator[StoredFile]:
        for key in self.keys:
            if key.startswith(prefix):
                self.given += 1
                yield StoredFile.at(key, 1, NOW)

    def level(self, prefix: str, limit: int | None) -> Level | None:
        found = [file for file in self.files(prefix) if "/" not in file.key[len(prefix) :]]
        return None if limit is not None and len(found) > limit else Level(found, ())

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        raise AssertionError

    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        raise AssertionError

    def now(self, prefix: str) -> datetime:
        return NOW


KEYS = ("t/a", "t/a.crc", "t/d//e", "t/d/e", "t/d/e/f", "t2/a", "top")


@pytest.mark.parametrize("many", [0, 2000])
@pytest.mark.parametrize(
    ("prefix", "paths", "found"),
    [
        ("t/", ["a", "b", "d/e"], {"t/a", "t/d/e"}),
        ("t/", ["d//e", "d/e/f", "d", "d/"], {"t/d//e", "t/d/e/f"}),
        ("", ["top", "t", "t/a"], {"top", "t/a"}),
        ("t/", [], set()),
    ],
)
def test_only_whole_keys_are_found_whether_a_level_is_small_or_large(
    prefix: str, paths: list[str], found: set[str], many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "MANY_NAMES", many)
    assert found == {file.key for file in Keys(*KEYS).look_up(prefix, paths)}


def test_a_level_is_asked_once_for_all_of_its_files() -> None:
    store = Keys(*(f"t/{number}" for number in range(100)))
    assert 50 == len(list(store.look_up("t/", [str(number) for number in range(50)])))
    assert 100 == store.given


def test_what_cannot_be_listed_on_a_disk_cannot_be_looked_up(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path)
    with IcebergFileLister.from_options({}) as lister:
        for base in ("file", "link"):
            with pytest.raises(ListingError):
                list(lister.look_up(f"file://{tmp_path}/{base}/", ["file"]))
        assert [] == list(lister.look_up(f"file://{tmp_path}/none/", ["file"]))


def test_a_link_to_a_file_is_a_file_and_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"xy")
    (tmp_path / "to-file").symlink_to("file")
    (tmp_path / "to-folder").symlink_to(tmp_path)
    (tmp_path / "to-nothing").symlink_to("nothing")
    names = ["file", "to-file", "to-folder", "to-nothing", "file/a", "to-folder/file", "./file", "../" + tmp_path.name]
    with IcebergFileLister.from_options({}) as lister:
        location = f"file://{tmp_path}/"
        listed = {file.path: file for file in lister.list_files(location)}
        found = {file.path: file for file in lister.look_up(location, names)}
    assert {"file", "to-file"} == set(found)
    assert listed == found
