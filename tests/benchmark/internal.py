"""``python -m benchmark internal``: ``internal-gc`` on a database that holds very many records.

They are written straight into PostgreSQL, in the forms of Nessie 0.99.0: one commit for each state of a table, a part
of them on ``main``, the others on a branch that was deleted. A dry run comes first, then the purge; each is a whole
process. The exit code is 1 where a run found other records than those of the deleted branch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import runpy
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psycopg

from benchmark.measuring import Measured, measure
from nessie_gc_core.testing.servers import PostgresServer

_WRITER = runpy.run_path(
    str(Path(__file__).parents[2] / "plugins" / "nessie-gc-internal" / "tests" / "records.py"), run_name="records"
)
message, varint, Records = _WRITER["message"], _WRITER["varint"], _WRITER["Records"]
OLD, NO_COMMIT = _WRITER["OLD"], _WRITER["NO_COMMIT"]
_TAIL = 20
"""So many earlier commits a commit names, as Nessie's do."""
_COPY = "COPY objs2 (repo, obj_id, obj_type, obj_value, obj_ref) FROM STDIN WITH (FORMAT BINARY)"

Row = tuple[str, bytes, str, bytes, int]


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark internal", description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000, help="in the database; default: 1000000")
    parser.add_argument("--dead", type=float, default=0.5, help="which part of them is unreferenced; default: 0.5")
    parser.add_argument("--keys", type=int, default=20, help="in the index of each commit; default: 20")
    given = parser.parse_args(arguments)
    with PostgresServer() as postgres:
        url = postgres.uri(postgres.create_database("nessie"))
        dead = _fill(url, given)
        right = True
        for options in (["--dry-run"], [], ["--dry-run"]):
            measured = _run(url, options)
            report = json.loads(measured.output)
            name = "unreferenced" if options else "purged"
            _show(name, report, measured)
            right &= report[name]["records"] == dead
            dead = dead if options else 0
    return 0 if right else 1


def _fill(url: str, given: argparse.Namespace) -> int:
    """Writes the database; gives how many records are dead."""
    records = Records()
    with psycopg.connect(url) as connection:
        connection.execute(_WRITER["TABLES"])
        dead_commits = int(given.records * given.dead) // 2
        counts = {"refs/heads/main": given.records // 2 - dead_commits, "gone": dead_commits}
        for branch, count in counts.items():
            head = NO_COMMIT
            with connection.cursor().copy(_COPY) as copy:
                copy.set_types(["text", "bytea", "text", "bytea", "int8"])
                for row in _history(branch, count, given.keys):
                    copy.write_row(row)
                    head = row[1] if row[2] == "c" else head
            if branch != "gone":
                records.reference(branch, head)
    records.finish()
    records.write(url, tables=False)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE objs2")
        size = connection.execute("SELECT pg_total_relation_size('objs2')").fetchone()
    _say(f"{given.records:,} records, {size[0] / 1e6 if size else 0:,.0f} MB in the database")
    return 2 * dead_commits


def _history(branch: str, count: int, keys: int) -> Iterator[Row]:
    """So many commits, each with a state of one of some tables; the index holds the latest state of each."""
    ids = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"{branch}-{key}")) for key in range(keys)]
    names = [f"M\0ns\x01table-{key:06}\0C\0\0".encode() for key in range(keys)]
    strip = varint(len(names[0]))
    prefixes = [name if not key else strip + name for key, name in enumerate(names)]
    elements: dict[int, bytes] = {}
    tail: list[bytes] = [NO_COMMIT]
    for number in range(count):
        key = number % keys
        location = f"s3://lake/warehouse/{branch}/{key}/metadata/{number:012}.metadata.json"
        content = message((2, message((1, number), (5, location))), (5, ids[key]))
        value = message((4, message((1, ids[key]), (2, 1), (3, content))))
        value_id = hashlib.sha256(value).digest()
        if number:
            elements[(number - 1) % keys] = _of_earlier(elements[(number - 1) % keys])
        elements[key] = prefixes[key] + b"A\x01\x20" + value_id + bytes(16)
        index = b"\2" + varint(len(elements)) + b"".join(elements[each] for each in sorted(elements))
        fields = [(1, OLD), (2, number), *((3, id_) for id_ in tail), (6, "a message"), (9, index), (11, 1)]
        commit = message((2, message(*fields)))
        commit_id = hashlib.sha256(commit).digest()
        tail = [commit_id, *tail][:_TAIL]
        yield "", value_id, "v", value, OLD
        yield "", commit_id, "c", commit, OLD


def _of_earlier(element: bytes) -> bytes:
    """The element of a key that an earlier commit added."""
    return element[:-51] + b"a" + element[-50:]


def _run(url: str, options: Sequence[str]) -> Measured:
    command = [sys.executable, "-m", "nessie_gc_core", "internal-gc", "--json", *options]
    return measure(command, environment={**os.environ, "NESSIE_GC_NESSIE_JDBC_URL": url})


def _show(name: str, report: dict[str, Any], measured: Measured) -> None:
    scanned, found = report["scanned"]["records"], report[name]["records"]
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in report["phases"].items())
    _say(
        f"{measured.seconds:.1f} s ({phases}), {scanned / measured.seconds:,.0f} records a second, "
        f"{measured.peak_megabytes['driver']:,.0f} MB; {found:,} {name} of {scanned:,}"
    )


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
