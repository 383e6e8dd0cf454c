"""Names of files by which other formats and tools show that they use a folder too (S32)."""

from __future__ import annotations

import pyarrow as pa
import pytest

from nessie_gc_core.model.marks import LOOKED_FOR, VERSION_HINT, is_foreign, mark_of, marked_folder, marks_of

KEYS = {
    "_delta_log/_last_checkpoint": "",
    "a/b/_delta_log/00000000000000000010.checkpoint.parquet": "a/b/",
    "x/.hoodie/hoodie.properties": "x/",
    "t/snapshot/snapshot-12": "t/",
    "t/_versions/7.manifest": "t/",
    "t/metadata/version-hint.text": "t/",
}
PLAIN = ("data/a.parquet", "metadata/00000-1.metadata.json", "my_delta_log/0.json", "t/version-hint.text", "snapshot/a")


@pytest.mark.parametrize("key", KEYS)
def test_a_mark_is_about_the_folder_that_holds_it(key: str) -> None:
    assert KEYS[key] == marked_folder(key)


@pytest.mark.parametrize("key", PLAIN)
def test_other_names_are_no_marks(key: str) -> None:
    assert (None, None) == (mark_of(key), marked_folder(key))


def test_many_keys_have_the_marks_of_each_of_them() -> None:
    keys = [*KEYS, *PLAIN]
    assert [mark_of(key) for key in keys] == marks_of(pa.array(keys)).to_pylist()
    assert [None] * len(PLAIN) == marks_of(pa.array(PLAIN)).to_pylist()
    assert [] == marks_of(pa.array([], pa.string())).to_pylist()


def test_a_version_hint_is_of_iceberg_itself() -> None:
    assert VERSION_HINT == mark_of("metadata/version-hint.text")
    assert (False, False, True) == (
        is_foreign(VERSION_HINT),
        is_foreign(None),
        is_foreign(mark_of("_delta_log/0.json")),
    )


@pytest.mark.parametrize(
    "name", ["_delta_log/0.json", ".hoodie/hoodie.properties", "snapshot/LATEST", "_versions/1.manifest"]
)
def test_folders_that_are_looked_for_hold_marks(name: str) -> None:
    assert is_foreign(mark_of(name))
    assert name.startswith(LOOKED_FOR)
