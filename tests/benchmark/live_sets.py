"""``python -m benchmark live-sets``: a live set of very many content versions in a database, written and read again.

Deferred deletions come after them, as many again unless ``--deletions`` says otherwise. Each database is measured in a
process of its own, which tells how much memory the streams took. The exit code is 1 where a count is not exact.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from uuid import UUID, uuid4

from nessie_gc_jdbc import JdbcLiveSetStore

from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion
from nessie_gc_core.testing.servers import MariaDbServer, PostgresServer

DATABASES = ("sqlite", "postgresql", "mariadb")
_TABLES = 10_000
_START = datetime(2026, 1, 1, tzinfo=UTC)


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark live-sets", description=__doc__)
    parser.add_argument("--versions", type=int, default=1_000_000, help="of contents; default: 1000000")
    parser.add_argument("--deletions", type=int, help="deferred ones; default: as many")
    parser.add_argument("--folder", help="where SQLite's file is made; default: the temporary folder")
    parser.add_argument("--database", action="append", choices=DATABASES, help="may be repeated; default: all")
    given = parser.parse_args(arguments)
    deletions = given.versions if given.deletions is None else given.deletions
    right = True
    for database in given.database or DATABASES:
        with (
            empty_database(database, given.folder) as url,
            ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        ):
            right &= pool.submit(_measure, database, url, given.versions, deletions).result()
    return 0 if right else 1


@contextmanager
def empty_database(database: str, folder: str | None) -> Iterator[str]:
    """An empty database of each kind."""
    if database == "sqlite":
        with tempfile.TemporaryDirectory(dir=folder) as place:
            yield f"sqlite:///{place}/live-sets.db"
    elif database == "postgresql":
        with PostgresServer() as postgres:
            yield postgres.uri(postgres.create_database("live_sets"))
    else:
        with MariaDbServer() as mariadb:
            yield mariadb.uri(mariadb.create_database("live_sets"))


def _measure(database: str, url: str, versions: int, deletions: int) -> bool:
    """Writes, reads and removes; whether every count was exact."""
    with JdbcLiveSetStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"}) as store:
        found = uuid4()
        store.start_identify(found, repository="benchmark", created=_START)

        def timed(what: str, count: int, act: Callable[[], int]) -> bool:
            started = time.perf_counter()
            done = act()
            seconds = time.perf_counter() - started
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
            _say(
                f"{database}: {what}: {done:,} in {seconds:.1f} s, {done / seconds:,.0f} a second; "
                f"peak of the process so far {peak:,.0f} MB"
            )
            return done == count

        right = timed("versions written", versions, lambda: store.add_content_versions(found, _versions(versions)))
        right &= timed("versions read", versions, lambda: sum(1 for _ in store.content_versions(found)))
        right &= timed("counted", versions, lambda: store.count_content_versions(found)[0])
        store.finish_identify(found, at=_START)
        store.start_expire(found, at=_START)
        right &= timed("deletions deferred", deletions, lambda: store.add_file_deletions(found, _deletions(deletions)))
        right &= timed("deletions read", deletions, lambda: sum(1 for _ in store.file_deletions(found)))
        right &= timed("deletions done", deletions, lambda: store.remove_file_deletions(found, _deletions(deletions)))
        right &= timed("live set deleted", 0, lambda: _delete(store, found))
        return right


def _delete(store: JdbcLiveSetStore, live_set_id: UUID) -> int:
    store.delete(live_set_id)
    return store.count_content_versions(live_set_id)[0]


def _versions(count: int) -> Iterator[ContentVersion]:
    """States of tables, as commits put them: one table after the other, again and again."""
    for number in range(count):
        table = number % _TABLES
        location = f"s3://lake/warehouse/db{table % 100}/table_{table:06}"
        yield ContentVersion(
            content_id=f"{table:08x}-0000-4000-8000-{table:012x}",
            content_type=ICEBERG_TABLE,
            metadata_location=f"{location}/metadata/{number // _TABLES:05}-{number:032x}.metadata.json",
            snapshot_id=number * 2654435761 % 2**62,
            content_key=f"db{table % 100}.table_{table:06}",
            commit_id=f"{number * 2654435761:064x}",
            commit_time=_START + timedelta(seconds=number),
            location=location,
        )


def _deletions(count: int) -> Iterator[FileDeletion]:
    """Files of many tables, one table after the other."""
    files = max(1, count // _TABLES)
    for number in range(count):
        table = number // files
        yield FileDeletion(
            location=f"s3://lake/warehouse/db{table % 100}/table_{table:06}/",
            path=f"data/day={number % 30:02}/00000-{number}-{number:032x}.parquet",
            size=number,
            modified=_START,
        )


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
