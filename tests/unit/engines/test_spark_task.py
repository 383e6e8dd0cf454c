"""What runs around a function on an executor."""

from __future__ import annotations

import sys
import zipimport
from pathlib import Path
from zipfile import ZipFile

import pytest

from nessie_gc_core.engines.spark.task import forget_zip_importers


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
