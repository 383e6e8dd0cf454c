from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister

from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion

pytest_plugins = ["nessie_gc_core.testing.fixtures"]

Put = Callable[[str, bytes], str]

# How long an example takes depends on the machine.
settings.register_profile("nessie-gc", deadline=None)
settings.load_profile("nessie-gc")

_THOROUGH = os.environ.get("THOROUGH_TESTS", "") not in ("", "0")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects what only `nox -s thorough` runs; pytest says how many tests that are."""
    if not _THOROUGH:
        out = [item for item in items if item.get_closest_marker("thorough") is not None]
        items[:] = [item for item in items if item not in out]
        config.hook.pytest_deselected(items=out)


@pytest.fixture
def reader() -> Iterator[IcebergContentToFiles]:
    with IcebergContentToFiles.from_options({}) as opened:
        yield opened


@pytest.fixture
def lister() -> Iterator[IcebergFileLister]:
    with IcebergFileLister.from_options({}) as opened:
        yield opened


@pytest.fixture
def deleter() -> Iterator[IcebergFileDeleter]:
    with IcebergFileDeleter.from_options({}) as opened:
        yield opened


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Writes a file below the temporary folder, and gives its absolute raw path."""

    def write(relative: str, data: bytes) -> str:
        path = tmp_path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return str(path)

    return write


@pytest.fixture
def version_of() -> Callable[..., ContentVersion]:
    def make(path: str | None, snapshot_id: int | None = None, content_type: str = ICEBERG_TABLE) -> ContentVersion:
        return ContentVersion(
            content_id="id",
            content_type=content_type,
            metadata_location=path,
            snapshot_id=snapshot_id,
            content_key="db.t",
            commit_id="c",
        )

    return make
