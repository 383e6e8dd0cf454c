from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister

from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion

Put = Callable[[str, bytes], str]


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
