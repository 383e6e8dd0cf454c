"""What runs around a function on an executor."""

from __future__ import annotations

import gc
import sys
import zipimport
from pathlib import Path
from zipfile import ZipFile

import pytest

from nessie_gc_core.engines.spark.task import forget_zip_importers, freeze_modules


def test_an_importer_of_a_zip_file_is_forgotten_and_its_modules_can_still_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "plugin.zip"
    with ZipFile(archive, "w") as written:
        written.writestr("module_in_an_archive.py", "answer = 42")
    monkeypatch.syspath_prepend(str(archive))
    monkeypatch.setitem(sys.path_importer_cache, str(archive), zipimport.zipimporter(str(archive)))

    forget_zip_importers()

    assert str(archive) not in sys.path_importer_cache
    import module_in_an_archive

    assert 42 == module_in_an_archive.answer
    del sys.modules["module_in_an_archive"]


def test_what_modules_hold_is_left_out_of_the_search_for_garbage_until_more_modules_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nessie_gc_core.engines.spark.task._FROZEN", [0])
    collected: list[None] = []
    monkeypatch.setattr(gc, "collect", lambda: collected.append(None))
    try:
        freeze_modules()
        frozen = gc.get_freeze_count()
        freeze_modules()
    finally:
        gc.unfreeze()
    assert (1, True) == (len(collected), frozen > 0)
