"""S33: metadata that is packed or dated otherwise is read; what unpacks to too much is the problem of one table."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Lake, Open
from pyiceberg.table import Table
from reading import put, reference

from nessie_gc_core.model import ICEBERG_TABLE, UNKNOWN_CONTENT
from nessie_gc_core.model.times import LATEST


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


def rewritten(
    table: Table, pack: Callable[[bytes], bytes] = bytes, change: Callable[[dict[str, Any]], None] | None = None
) -> list[int]:
    """Writes the newest metadata file of a table anew; its snapshots, newest first."""
    path = Path(table.metadata_location.removeprefix("file://"))
    fields = json.loads(path.read_bytes())
    if change is not None:
        change(fields)
    path.write_bytes(pack(json.dumps(fields).encode()))
    return [snapshot["snapshot-id"] for snapshot in fields["snapshots"]][::-1]


def in_microseconds(fields: dict[str, Any]) -> None:
    for each in (*fields["snapshots"], *fields["snapshot-log"]):
        each["timestamp-ms"] *= 1000


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_metadata_is_unpacked_by_its_first_bytes_whatever_its_name(
    lake: Lake, connect: Open, pack: Callable[[bytes], bytes]
) -> None:
    listed = rewritten(lake.table("sales.orders", appends=3), pack)
    assert listed == [version.snapshot_id for version in put(connect(), "sales.orders", ICEBERG_TABLE)]


def test_times_in_microseconds_stop_nothing_and_the_newest_snapshot_stays_the_newest(lake: Lake, connect: Open) -> None:
    listed = rewritten(lake.table("sales.orders", appends=3), change=in_microseconds)
    connector = connect()
    assert listed == [version.snapshot_id for version in put(connector, "sales.orders", ICEBERG_TABLE)]
    log = list(connector.commit_log(reference(connector, "sales.orders")))
    assert {LATEST} == {entry.commit_time for entry in log}


@pytest.mark.parametrize("number", [10**18, -(10**18)])
def test_a_time_that_no_calendar_has_is_late(lake: Lake, connect: Open, number: int) -> None:
    rewritten(lake.table("sales.orders", appends=2), change=lambda fields: fields.update({"last-updated-ms": number}))
    connector = connect()
    head = next(iter(connector.commit_log(reference(connector, "sales.orders"))))
    assert LATEST == head.commit_time


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_metadata_that_unpacks_to_more_than_the_limit_freezes_its_table_alone(
    lake: Lake, connect: Open, caplog: pytest.LogCaptureFixture, pack: Callable[[bytes], bytes]
) -> None:
    lake.table("sales.orders")
    rewritten(lake.table("sales.huge"), pack, lambda fields: fields.update(padding="x" * 100_000))
    connector = connect(max_metadata_bytes=100_000)
    assert [] != put(connector, "sales.orders", ICEBERG_TABLE)
    assert [] != put(connector, "sales.huge", UNKNOWN_CONTENT)
    assert "the limit is max_metadata_bytes" in caplog.text


@pytest.mark.parametrize("text", [b"[" * 200_000, b'{"a":' * 200_000])
def test_metadata_that_is_nested_too_deeply_freezes_its_table_alone(lake: Lake, connect: Open, text: bytes) -> None:
    lake.table("sales.orders")
    rewritten(lake.table("sales.deep"), lambda _: text)
    connector = connect()
    assert [] != put(connector, "sales.orders", ICEBERG_TABLE)
    assert [] != put(connector, "sales.deep", UNKNOWN_CONTENT)
