"""``python -m benchmark deletions``: how many files a second are deleted on an S3 server on loopback.

The same number of new files is deleted in turn one request after the other, as the deleter does it, through a proxy,
and through a proxy of whose answers a share is ``503 SlowDown``; ``--repeat`` times each. The exit code is 1 if a file
was not deleted, or not named once; how long anything took never fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from faults.lake import keys, put
from lakes.upload import s3_store
from nessie_gc_iceberg_files import IcebergFileDeleter
from rich.console import Console

from nessie_gc_core.model.files import DeleteStatus, FileReference
from nessie_gc_core.testing.servers import FaultProxy, Faults, S3Server

_REQUEST = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    name: str
    faults: Faults | None = None
    """``None``: without a proxy."""
    batch_size: int = IcebergFileDeleter.batch_size


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    seconds: float
    refused: int
    is_right: bool


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark deletions", description=__doc__)
    parser.add_argument("--files", type=int, default=20_000, metavar="N", help="files per measurement; default 20,000")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="how often each is measured; default 3")
    parser.add_argument("--share", type=float, default=0.2, help="share of answers that are 503; default 0.2")
    given = parser.parse_args(arguments)
    ways = [
        _Way(name="one request at a time", batch_size=_REQUEST),
        _Way(name="as the deleter does it"),
        _Way(name="through a proxy", faults=Faults()),
        _Way(name=f"through a proxy, {given.share:.0%} are 503", faults=Faults(unavailable=given.share)),
    ]
    found: dict[str, list[_Measured]] = {way.name: [] for way in ways}
    with S3Server() as server:
        for number in range(given.repeat):
            for way in ways:
                found[way.name].append(_measure(server, way, given.files, f"wh/db/t{number}-{ways.index(way)}/"))
                sys.stderr.write(f"{way.name}: {found[way.name][-1].seconds:.2f} s\n")
    return _show(found, given.files)


def _measure(server: S3Server, way: _Way, files: int, prefix: str) -> _Measured:
    """Deletes new files below a prefix of their own, so that earlier refusals do not count."""
    store = s3_store(server.bucket, server.properties)
    paths = [f"data/p={number % 16}/{number:07}.parquet" for number in range(files)]
    put(store, {prefix + path: b"x" for path in paths})
    if way.faults is None:
        return _deleted(server, server.properties, way, prefix, paths)
    with FaultProxy(server.properties, way.faults) as proxy:
        done = _deleted(server, proxy.properties, way, prefix, paths)
        refused = proxy.counts()["unavailable"]
        return _Measured(seconds=done.seconds, refused=refused, is_right=done.is_right)


def _deleted(
    server: S3Server, properties: Mapping[str, str], way: _Way, prefix: str, paths: Sequence[str]
) -> _Measured:
    location = f"s3://{server.bucket}/{prefix}"
    files = [FileReference(location=location, path=path, size=1) for path in paths]
    with IcebergFileDeleter.from_options({"properties": dict(properties)}) as deleter:
        list(deleter.delete_files(location, [FileReference(location=location, path="none", size=1)]))  # connects
        started = time.perf_counter()
        outcomes = [
            outcome
            for start in range(0, len(files), way.batch_size)
            for outcome in deleter.delete_files(location, files[start : start + way.batch_size])
        ]
        seconds = time.perf_counter() - started
    named = Counter(outcome.path for outcome in outcomes if outcome.status is DeleteStatus.DELETED)
    left = any(key.startswith(prefix) for key in keys(s3_store(server.bucket, server.properties)))
    return _Measured(seconds=seconds, refused=0, is_right=named == Counter(paths) and not left)


def _show(found: Mapping[str, Sequence[_Measured]], files: int) -> int:
    best = {name: min(done, key=lambda each: each.seconds) for name, done in found.items()}
    first = next(iter(best.values())).seconds
    for name, done in best.items():
        refused = f", {done.refused} requests refused" if done.refused else ""
        rate = f"{files / done.seconds:,.0f} files a second"
        Console(width=160).print(f"{name}: {rate}, {done.seconds / first:.2f} times as long as the first{refused}")
    *_, through, refusing = best.values()
    Console(width=160).print(f"with refusals: {refusing.seconds / through.seconds:.2f} times as long as without")
    wrong = sum(not each.is_right for done in found.values() for each in done)
    Console(width=160).print(f"{wrong} measurements in which a file was not deleted or not named once")
    return 1 if wrong else 0
