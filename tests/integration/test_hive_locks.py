"""Expiry of snapshots in a real Hive Metastore, whose locks others hold, wait for, and take away."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from catalog_kinds import KINDS, ROWS, Kind, Servers, expire, opened, rows_of_snapshots, write
from hive_metastore.ttypes import ShowLocksRequest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.hive import HiveCatalog, LockState, UnlockRequest
from pyiceberg.table import Table

pytestmark = pytest.mark.server


@contextmanager
def locked(catalog: Catalog, table: Table) -> Iterator[int]:
    """A table under somebody else's exclusive lock; gives its id."""
    assert isinstance(catalog, HiveCatalog)
    with catalog._client as client:
        lock = client.lock(catalog._create_lock_request(*table.name()))
    assert LockState.ACQUIRED == lock.state
    try:
        yield lock.lockid
    finally:
        unlock(catalog, lock.lockid)


def unlock(catalog: Catalog, lock: int) -> None:
    assert isinstance(catalog, HiveCatalog)
    with catalog._client as client:
        client.unlock(UnlockRequest(lockid=lock))


def locks(catalog: Catalog, state: int) -> list[int]:
    """The ids of all locks in a state."""
    assert isinstance(catalog, HiveCatalog)
    with catalog._client as client:
        return [each.lockid for each in client.show_locks(ShowLocksRequest()).locks if each.state == state]


@contextmanager
def once_a_lock_waits(kind: Kind, do: Callable[[Catalog, int], None]) -> Iterator[None]:
    """Something is done, in another thread, with the id of the first lock that has to wait."""
    is_over = threading.Event()

    def watch() -> None:
        with load_catalog("prod", **kind.writer) as catalog:
            while not is_over.wait(0.02):
                for lock in locks(catalog, LockState.WAITING):
                    do(catalog, lock)
                    return

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def hive(servers: Servers, *, checks: int) -> Kind:
    """A metastore, and a run that asks so often whether it has its lock by now, every tenth of a second."""
    kind = KINDS["hive"](servers)
    waits = {"lock-check-max-wait-time": "0.1", "lock-check-retries": str(checks)}
    return replace(kind, collector={**kind.writer, **waits})


def commit_without_lock(catalog: Catalog, table: Table, folder: Path, change: Callable[[Table], object]) -> None:
    """What one does who holds the lock: a commit of another catalog, whose metadata becomes the table's."""
    assert isinstance(catalog, HiveCatalog)
    with load_catalog("other", type="sql", uri=f"sqlite:///{folder}/other.db") as other:
        other.create_namespace("db")
        copy = other.register_table("db.t", table.metadata_location)
        change(copy)
    with catalog._client as client:
        entry = client.get_table(*table.name())
        entry.parameters["metadata_location"] = copy.metadata_location
        client.alter_table(*table.name(), entry)


def take_no_locks(table: Table) -> None:
    with table.transaction() as transaction:
        transaction.set_properties({"engine.hive.lock-enabled": "false"})


def outcomes(report: dict[str, Any]) -> list[str]:
    return [each["outcome"] for each in report["tables"]]


def test_a_table_that_somebody_else_has_locked_keeps_its_snapshots(servers: Servers) -> None:
    kind = hive(servers, checks=2)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "held.orders", appends=3)
        before = kind.files()
        with locked(catalog, table) as lock:
            report = expire(kind, servers.folder, "held.orders", "--commit-retries", "1")
            left = locks(catalog, LockState.ACQUIRED), locks(catalog, LockState.WAITING)

        assert (1, ["conflict"]) == (report["exit_code"], outcomes(report)), report
        assert "held.orders: another process holds its lock in the metastore" in report["tables"][0]["reason"]
        assert ([lock], []) == left
        assert before == kind.files()
        assert [2, 4, 6] == rows_of_snapshots(catalog.load_table(table.name()))


def test_an_expiry_waits_for_the_lock(servers: Servers) -> None:
    kind = hive(servers, checks=100)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "waiting.orders", appends=3)
        before = kind.files()
        with locked(catalog, table) as held, once_a_lock_waits(kind, lambda other, lock: unlock(other, held)):
            report = expire(kind, servers.folder, "waiting.orders", "--commit-retries", "0")

        assert (0, ["expired"]) == (report["exit_code"], outcomes(report)), report
        assert len(before - kind.files()) == report["collection"]["deleted"]["files"] > 0
        assert [6] == rows_of_snapshots(catalog.load_table(table.name()))


def test_what_is_committed_while_an_expiry_waits_for_the_lock_is_not_overwritten(servers: Servers) -> None:
    kind = hive(servers, checks=100)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "meanwhile.orders", appends=3)
        with locked(catalog, table) as held:

            def commit(other: Catalog, lock: int) -> None:
                commit_without_lock(other, table, servers.folder, lambda copy: copy.append(ROWS))
                unlock(other, held)

            with once_a_lock_waits(kind, commit):
                report = expire(kind, servers.folder, "meanwhile.orders")

        assert (0, ["expired"]) == (report["exit_code"], outcomes(report)), report
        assert 8 == rows_of_snapshots(catalog.load_table(table.name()))[-1]


def test_an_expiry_that_waited_sees_that_writers_take_no_locks_any_more(servers: Servers) -> None:
    kind = hive(servers, checks=100)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "unlocking.orders", appends=3)
        before = kind.files()
        with locked(catalog, table) as held:

            def commit(other: Catalog, lock: int) -> None:
                commit_without_lock(other, table, servers.folder, take_no_locks)
                unlock(other, held)

            with once_a_lock_waits(kind, commit):
                report = expire(kind, servers.folder, "unlocking.orders")

        assert (0, ["left alone"]) == (report["exit_code"], outcomes(report)), report
        assert before <= kind.files()
        assert [2, 4, 6] == rows_of_snapshots(catalog.load_table(table.name()))


def test_s19_an_expiry_whose_lock_is_taken_away_deletes_nothing(servers: Servers) -> None:
    kind = hive(servers, checks=100)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "unlocked.orders", appends=3)
        before = kind.files()
        with locked(catalog, table), once_a_lock_waits(kind, unlock):
            report = expire(kind, servers.folder, "unlocked.orders")

        assert (1, ["unknown"]) == (report["exit_code"], outcomes(report)), report
        assert before == kind.files()
        assert [2, 4, 6] == rows_of_snapshots(catalog.load_table(table.name()))


def test_a_table_whose_writers_take_no_locks_is_left_alone(servers: Servers) -> None:
    kind = KINDS["hive"](servers)
    with opened(kind, servers.folder) as (catalog, writer):
        table = write(catalog, writer, "lockless.orders", appends=3)
        take_no_locks(table)
        before = kind.files()

        dry = expire(kind, servers.folder, "lockless.orders", "--dry-run")
        report = expire(kind, servers.folder, "lockless.orders")

        assert (0, ["left alone"]) == (report["exit_code"], outcomes(report)), report
        assert dry["tables"] == report["tables"]
        assert "engine.hive.lock-enabled is not true" in report["tables"][0]["reason"]
        assert before == kind.files()
