"""``python -m benchmark.floor``: reads every commit and every immutable file of a lake once, and does nothing else.

What no collector can do without, in one thread: what a run takes is told as a multiple of it.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import fastavro
import requests
from lakes.upload import s3_store

_AT_ONCE = 16
Read = Callable[[str], Awaitable[bytes]]


def metadata_locations(uri: str) -> set[str]:
    """What the commits of all references put, each commit looked at once."""
    found: set[str] = set()
    seen: set[str] = set()
    with requests.Session() as session:
        trees = f"{uri}/trees"
        for reference in session.get(trees, timeout=60).json()["references"]:
            for entry in _log(session, f"{trees}/{quote(reference['name'], safe='')}/history"):
                if entry["commitMeta"]["hash"] in seen:
                    break
                seen.add(entry["commitMeta"]["hash"])
                puts = (operation.get("content") or {} for operation in entry.get("operations") or ())
                found.update(put["metadataLocation"] for put in puts if "metadataLocation" in put)
    return found


def _log(session: requests.Session, url: str) -> Iterator[dict[str, Any]]:
    token: str | None = None
    while True:
        more = {} if token is None else {"page-token": token}
        page = session.get(url, params={"fetch": "ALL", **more}, timeout=60).json()
        yield from page["logEntries"]
        token = page.get("token")
        if not page.get("hasMore"):
            return


async def read_all(locations: set[str], read: Read) -> dict[str, int]:
    """How many files of each kind there are; every one is read and decoded once."""
    lists = await _each(locations, read, lambda data: [s["manifest-list"] for s in _current(json.loads(data))])
    manifests = await _each(lists, read, lambda data: [r["manifest_path"] for r in _records(data)])
    files = await _each(manifests, read, lambda data: [r["data_file"]["file_path"] for r in _records(data)])
    return {"metadata": len(locations), "manifest lists": len(lists), "manifests": len(manifests), "files": len(files)}


def _current(metadata: dict[str, Any]) -> Iterator[dict[str, Any]]:
    current = metadata["current-snapshot-id"]
    return (snapshot for snapshot in metadata["snapshots"] if snapshot["snapshot-id"] == current)


def _records(data: bytes) -> Iterator[dict[str, Any]]:
    return iter(fastavro.reader(io.BytesIO(data)))  # type: ignore[arg-type]  # records of these files are dicts


async def _each(paths: set[str], read: Read, named: Callable[[bytes], list[str]]) -> set[str]:
    found: set[str] = set()
    slots = asyncio.Semaphore(_AT_ONCE)

    async def one(path: str) -> None:
        async with slots:
            found.update(named(await read(path)))

    await asyncio.gather(*map(one, paths))
    return found


def reader(properties: dict[str, str]) -> Read:
    """Reads from S3 where there are properties for it, else from the disk."""
    if not properties:
        return _from_disk
    stores: dict[str, Any] = {}

    async def from_s3(path: str) -> bytes:
        bucket, _, key = path.partition("://")[2].partition("/")
        if bucket not in stores:
            stores[bucket] = s3_store(bucket, properties)
        return bytes(await (await stores[bucket].get_async(key.lstrip("/"))).bytes_async())

    return from_s3


async def _from_disk(path: str) -> bytes:
    return Path(path.removeprefix("file://")).read_bytes()  # noqa: ASYNC240 - nothing else runs beside it


def main() -> None:
    """Reads, and prints what was there."""
    parser = argparse.ArgumentParser(prog="benchmark.floor", description=__doc__)
    parser.add_argument("uri")
    parser.add_argument("--property", action="append", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    properties = dict(each.split("=", 1) for each in arguments.property)
    counts = asyncio.run(read_all(metadata_locations(arguments.uri), reader(properties)))
    sys.stdout.write(json.dumps(counts) + "\n")


if __name__ == "__main__":
    main()
