"""A folder of the disk, for the good lister and the good deleter and all that differ from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from nessie_gc_core.testing.file_fixtures import FileStoreFixtures


def on_disk(path: str) -> Path:
    """Where a raw path lies."""
    return Path(path.removeprefix("file://"))


class DiskTests(FileStoreFixtures):
    """The back doors."""

    @pytest.fixture
    def location(self, tmp_path):
        return f"file://{tmp_path}/lake/t/"

    @pytest.fixture
    def put_file(self):
        def put(location, path, data):
            file = on_disk(location + path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

        return put

    @pytest.fixture
    def put_directory(self):
        return lambda location, path: on_disk(location + path).mkdir(parents=True)

    @pytest.fixture
    def put_link(self):
        return lambda location, path, target: on_disk(location + path).symlink_to(on_disk(target))
