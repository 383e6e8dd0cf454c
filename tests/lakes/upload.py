"""Brings a lake that was built on a disk into a bucket."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from obstore.store import S3Store

_AT_ONCE = 24


def upload(folder: Path, bucket: str, properties: Mapping[str, str]) -> int:
    """Puts every file below a folder under its absolute path; gives how many there are."""
    store = s3_store(bucket, properties)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(pool.map(lambda path: _put(store, path), _files(folder)))


def s3_store(bucket: str, properties: Mapping[str, str]) -> S3Store:
    """A client with the credentials of Iceberg's properties."""
    return S3Store(
        bucket,
        endpoint=properties["s3.endpoint"],
        region=properties["s3.region"],
        access_key_id=properties["s3.access-key-id"],
        secret_access_key=properties["s3.secret-access-key"],
        virtual_hosted_style_request=False,
        client_options={"allow_http": True},
    )


def _put(store: S3Store, path: Path) -> int:
    store.put(str(path).lstrip("/"), path.read_bytes(), use_multipart=False)
    return 1


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        yield from (Path(parent, name) for name in names)
