"""One SQLite table for everything: rows with a kind, an owner, a part, a key, and a value in JSON."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nessie_gc_core.errors import StoreError

_TABLE = """
CREATE TABLE IF NOT EXISTS ledger_rows (
    kind TEXT, owner TEXT, part TEXT, key TEXT, value TEXT, PRIMARY KEY (kind, owner, part, key)
) WITHOUT ROWID
"""
_PAGE = 500
_MICROSECOND = timedelta(microseconds=1)


class Rows:
    """Opens a connection for each transaction, so that threads and streams never share one."""

    def __init__(self, file: str) -> None:
        self._file = Path(file)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction: everything in it happens, or nothing. Only one writer at a time."""
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(self._file, isolation_level=None, timeout=60)
            connection.execute(_TABLE)
            connection.execute("BEGIN IMMEDIATE")
            yield Transaction(connection)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreError(f"the live-set store {self._file} cannot be used: {error}") from error
        finally:
            if connection is not None:
                connection.close()  # rolls back what was not committed

    def stream(self, kind: str, owner: str, part: str | None = None) -> Iterator[dict[str, Any]]:
        """The values of rows, page by page. Nothing is locked between two pages."""
        after: tuple[str, str] | None = None
        while True:
            with self.transaction() as rows:
                page = rows.page(kind, owner, part, after)
            for found in page:
                yield from_json(found[2])
            if len(page) < _PAGE:
                return
            after = page[-1][:2]


class Transaction:
    """The operations of a transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, kind: str, owner: str, part: str = "", key: str = "") -> dict[str, Any] | None:
        """The value of a row."""
        found = self._one("SELECT value", kind, owner, part, key).fetchone()
        return from_json(found[0]) if found is not None else None

    def put(self, kind: str, owner: str, part: str, key: str, row: object) -> None:
        """Writes or replaces a row."""
        values = (kind, owner, part, key, to_json(row))
        self._connection.execute("INSERT OR REPLACE INTO ledger_rows VALUES (?, ?, ?, ?, ?)", values)

    def add(self, kind: str, owner: str, part: str, key: str, row: object) -> int:
        """Writes a row unless it exists; returns how many were written."""
        values = (kind, owner, part, key, to_json(row))
        return self._connection.execute("INSERT OR IGNORE INTO ledger_rows VALUES (?, ?, ?, ?, ?)", values).rowcount

    def remove(self, kind: str, owner: str, part: str, key: str) -> int:
        """Removes a row; returns how many there were."""
        return self._one("DELETE", kind, owner, part, key).rowcount

    def clear(self, kinds: Iterable[str], owner: str) -> None:
        """Removes all rows of an owner."""
        for kind in kinds:
            self._connection.execute("DELETE FROM ledger_rows WHERE kind = ? AND owner = ?", (kind, owner))

    def owners(self, kind: str) -> list[str]:
        """The distinct owners."""
        query = "SELECT DISTINCT owner FROM ledger_rows WHERE kind = ?"
        return [str(owner) for (owner,) in self._connection.execute(query, (kind,))]

    def parts(self, kind: str, owner: str) -> list[str]:
        """The distinct parts."""
        query = "SELECT DISTINCT part FROM ledger_rows WHERE kind = ? AND owner = ?"
        return [part for (part,) in self._connection.execute(query, (kind, owner))]

    def count(self, kind: str, owner: str) -> int:
        """The number of rows."""
        query = "SELECT count(*) FROM ledger_rows WHERE kind = ? AND owner = ?"
        return int(self._connection.execute(query, (kind, owner)).fetchone()[0])

    def all(self, kind: str, owner: str = "") -> list[tuple[str, str, dict[str, Any]]]:
        """Part, key and value of all rows of an owner."""
        query = "SELECT part, key, value FROM ledger_rows WHERE kind = ? AND owner = ?"
        return [(part, key, from_json(value)) for part, key, value in self._connection.execute(query, (kind, owner))]

    def page(
        self, kind: str, owner: str, part: str | None, after: tuple[str, str] | None
    ) -> list[tuple[str, str, str]]:
        """Part, key and value of the next rows in order."""
        query = (
            "SELECT part, key, value FROM ledger_rows WHERE kind = ?1 AND owner = ?2 AND (?3 IS NULL OR part = ?3) "
            f"AND (?4 IS NULL OR (part, key) > (?4, ?5)) ORDER BY part, key LIMIT {_PAGE}"
        )
        return list(self._connection.execute(query, (kind, owner, part, *(after or (None, None)))))

    def _one(self, what: str, kind: str, owner: str, part: str, key: str) -> sqlite3.Cursor:
        where = "FROM ledger_rows WHERE kind = ? AND owner = ? AND part = ? AND key = ?"
        return self._connection.execute(f"{what} {where}", (kind, owner, part, key))


def to_json(row: object) -> str:
    """A dataclass, or plain values, as text; times become UTC."""
    plain = row if isinstance(row, dict) else asdict(row)  # type: ignore[call-overload]
    return json.dumps(plain, default=_plain, ensure_ascii=False)


def from_json(text: str) -> dict[str, Any]:
    """The fields of a row."""
    found: dict[str, Any] = json.loads(text, object_hook=_typed)
    return found


def _plain(value: object) -> object:
    if isinstance(value, timedelta):
        return {"$micros": value // _MICROSECOND}
    return {"$time": value.astimezone(UTC).isoformat()} if isinstance(value, datetime) else str(value)


def _typed(found: dict[str, Any]) -> object:
    if set(found) == {"$micros"}:
        return found["$micros"] * _MICROSECOND
    return datetime.fromisoformat(found["$time"]) if set(found) == {"$time"} else found
