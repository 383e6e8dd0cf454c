"""Brings a computed lake into a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from nessie_gc_memory.mock import MockLake
from obstore.store import S3Store

_AT_ONCE = 24


def upload(lake: MockLake, properties: Mapping[str, str]) -> int:
    """Puts every file of a lake whose root is in a bucket there; gives how many there are."""
    bucket, _, folder = lake.spec.root.removeprefix("s3://").partition("/")
    store, root = s3_store(bucket, properties), f"{lake.spec.root}/"

    def put(path: str) -> int:
        store.put(f"{folder}/{path}", lake.content(root + path) or b"", use_multipart=False)
        return 1

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return sum(pool.map(put, (path for listed in lake.listing(root) for path in listed.paths)))


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
