"""Which rights in a database statements need: those of this process, or those that a server has in its log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, event

Right = tuple[str, str]
"""A table, and what is done with it."""
_DOES = re.compile(r"\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN|LIKE) (nessie_gc_\w+)")
_VERBS = {"INSERT INTO": "INSERT", "UPDATE": "UPDATE", "DELETE FROM": "DELETE"}
_TEMPORARY = "nessie_gc_new_rows"


@contextmanager
def noted_statements(user: str) -> Iterator[set[Right]]:
    """The rights that the statements of a user need from now on."""
    found = set[Right]()

    def note(connection: Connection, cursor: object, statement: str, *more: object) -> None:
        if connection.engine.url.username == user:
            found.update(rights_of(" ".join(statement.split())))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def rights_of(statement: str) -> Iterator[Right]:
    """By the documentation of PostgreSQL: a condition reads, a lock is an update, and so is a conflict."""
    for words, table in _DOES.findall(statement):
        verb = _VERBS.get(words, "SELECT")
        if table == _TEMPORARY:
            continue
        yield table, verb
        is_changed = verb == "INSERT" and "ON CONFLICT" in statement and "DO UPDATE" in statement
        if is_changed or (verb == "SELECT" and re.search(r"\bFOR (UPDATE|SHARE)\b", statement)):
            yield table, "UPDATE"
        if is_changed or (verb in ("UPDATE", "DELETE") and " WHERE " in statement):
            yield table, "SELECT"


_DOES_IN_MARIADB = re.compile(r"\b(INSERT INTO|INSERT IGNORE INTO|UPDATE|DELETE FROM|FROM|JOIN) (nessie_gc_\w+)")


def rights_in_mariadb(statement: str) -> Iterator[Right]:
    """By the documentation of MariaDB: a condition reads, a duplicate key is an update, a lock needs nothing more."""
    for words, table in _DOES_IN_MARIADB.findall(statement):
        verb = "INSERT" if words.startswith("INSERT") else _VERBS.get(words, "SELECT")
        yield table, verb
        if verb == "INSERT" and "ON DUPLICATE KEY UPDATE" in statement:
            yield table, "UPDATE"
        if verb in ("UPDATE", "DELETE") and " WHERE " in statement:
            yield table, "SELECT"
