"""Version 6: sums of runs by day and of held files, what runs say of tables, what is repeated, and pauses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    SmallInteger,
    Table,
    Text,
    and_,
    bindparam,
    inspect,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.types import TypeEngine

revision = "6"
down_revision = "5"

_JOBS, _RUNS, _HELD = "nessie_gc_jobs", "nessie_gc_job_runs", "nessie_gc_held_files"
_INDEXES = {
    "days": ["schedule_key", "day", "status", "reclaimed"],
    "jobs": ["job_digest", "status", "run_key"],
    "statuses": ["status", "run_key"],
}
_DIGEST_BYTES = 20
_DAY = 86_400_000_000
_DELETED, _PURGED = "deleted.bytes", "purged.bytes"
_WITH_OUTCOMES = ("outcomes", "collection", "done")
"""Objects of reports in which there are outcomes of files; the first of them counts."""
_SAID = (_DELETED, _PURGED, *(f"{name}.{_DELETED}" for name in _WITH_OUTCOMES))
_MOST_BYTES = 2**56
_BATCH_ROWS = 1000
_BATCH_REPORTS = 20


def upgrade() -> None:
    """Adds columns, fills them, and then what is found by them; creates what is missing."""
    connection = op.get_bind()
    _add(connection, _JOBS, [*_repeated(), Column("removed", SmallInteger, nullable=False, server_default=text("0"))])
    _add(connection, _RUNS, _repeated())
    _fill_repeated(connection)
    columns: list[Column[Any]] = [
        Column("schedule_key", _key_type(), nullable=False, server_default=text("''")),
        Column("job_digest", _key_type(), nullable=False, server_default=text("''")),
        Column("day", Integer, nullable=False, server_default=text("0")),
        Column("reclaimed", BigInteger, nullable=False, server_default=text("0")),
    ]
    _add(connection, _RUNS, columns)
    _fill(connection)
    indexes = {index["name"] for index in inspect(connection).get_indexes(_RUNS)}
    for name, of in _INDEXES.items():
        if f"{_RUNS}_{name}" not in indexes:
            op.create_index(f"{_RUNS}_{name}", _RUNS, of)
    op.create_table(
        "nessie_gc_table_days",
        Column("schedule_key", _key_type(), primary_key=True),
        Column("day", Integer, primary_key=True, autoincrement=False),
        Column("table_digest", _key_type(), primary_key=True),
        Column("table_name", _text_type()),
        Column("garbage", BigInteger, nullable=False),
        Column("reclaimed", BigInteger, nullable=False),
        if_not_exists=True,
        sqlite_with_rowid=False,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
    )

    _group_held_files(connection)


def _group_held_files(connection: Connection) -> None:
    """Adds what files of a quarantine share, and an index that has all that is summed of them."""
    if "group_key" not in {column["name"] for column in inspect(connection).get_columns(_HELD)}:
        op.add_column(_HELD, Column("group_key", _key_type(), nullable=False, server_default=text("''")))
    held = Table(_HELD, MetaData(), autoload_with=connection)
    change = update(held).where(held.c.held_key == bindparam("of")).values(group_key=bindparam("new_group_key"))
    shared = ("live_set_id", "place", "ends", "state")
    query = select(held.c.held_key, *(held.c[name] for name in shared)).order_by(held.c.held_key).limit(_BATCH_ROWS)
    page = connection.execute(query).all()
    while page:
        rows = [{"of": key, "new_group_key": _digest(*values)} for key, *values in page]
        connection.execute(change, rows)
        page = connection.execute(query.where(held.c.held_key > page[-1].held_key)).all()
    if f"{_HELD}_groups" not in {index["name"] for index in inspect(connection).get_indexes(_HELD)}:
        op.create_index(f"{_HELD}_groups", _HELD, ["group_key", "sidecar", "size"])


def _repeated() -> list[Column[Any]]:
    """What is known of occasions for which runs have begun."""
    begun = Column("begun", SmallInteger, nullable=False, server_default=text("0"))
    return [begun, Column("lost", Integer, nullable=False, server_default=text("0"))]


def _add(connection: Connection, table: str, columns: list[Column[Any]]) -> None:
    known = {column["name"] for column in inspect(connection).get_columns(table)}
    for column in columns:
        if column.name not in known:
            op.add_column(table, column)


def _fill_repeated(connection: Connection) -> None:
    """A job goes on with what was begun if it is due for another attempt, or for what it was due for last."""
    jobs = Table(_JOBS, MetaData(), autoload_with=connection)
    is_repeated = or_(jobs.c.attempt > 1, and_(jobs.c.by_hand == 0, jobs.c.due <= jobs.c.last))
    connection.execute(update(jobs).where(is_repeated).values(begun=1))


def _fill(connection: Connection) -> None:
    """Fills the columns of runs that have ended; the scheduler of the others does not know of them."""
    runs = Table(_RUNS, MetaData(), autoload_with=connection)
    given = ("schedule_key", "job_digest", "day", "reclaimed", "numbers")
    change = (
        update(runs).where(runs.c.run_key == bindparam("of")).values({name: bindparam(f"new_{name}") for name in given})
    )
    for rows in _pages(connection, runs):
        numbers = {row.run_key: _object(row.numbers) for row in rows}
        silent = [key for key, known in numbers.items() if not any(name in known for name in _SAID)]
        found = dict(_in_reports(connection, runs, silent))
        connection.execute(change, [_filled(row, numbers[row.run_key], found.get(row.run_key)) for row in rows])


def _filled(row: Row[Any], numbers: dict[str, Any], found: dict[str, int] | None) -> dict[str, Any]:
    said = {**numbers, **(found or {})}
    return {
        "of": row.run_key,
        "new_schedule_key": _digest(row.schedule),
        "new_job_digest": _digest(row.job),
        "new_day": row.started // _DAY,
        "new_reclaimed": _reclaimed(row.service, said),
        "new_numbers": row.numbers if found is None else json.dumps(said),
    }


def _pages(connection: Connection, runs: Table) -> Iterator[list[Any]]:
    query = select(*(runs.c[name] for name in ("run_key", "schedule", "job", "service", "started", "numbers")))
    query = query.where(runs.c.status != "RUNNING").order_by(runs.c.run_key).limit(_BATCH_ROWS)
    page = [*connection.execute(query)]
    while page:
        yield page
        page = [*connection.execute(query.where(runs.c.run_key > page[-1].run_key))]


def _in_reports(connection: Connection, runs: Table, keys: list[bytes]) -> Iterator[tuple[bytes, dict[str, int]]]:
    """What was deleted, where only the report says it: reports are large, so few are read at once."""
    says_it = runs.c.report.like('%"deleted"%')
    for start in range(0, len(keys), _BATCH_REPORTS):
        mine = runs.c.run_key.in_(keys[start : start + _BATCH_REPORTS])
        for key, report in connection.execute(select(runs.c.run_key, runs.c.report).where(mine, says_it)):
            body = _object(report)
            sizes = {f"{name}.{_DELETED}": _inside(body, name, "deleted", "bytes") for name in _WITH_OUTCOMES}
            if found := {name: size for name, size in sizes.items() if _is_whole(size)}:
                yield key, found


def _reclaimed(service: str, numbers: dict[str, Any]) -> int:
    """As a run counts it; a sweep that failed is resumed, and what it deleted counts then."""
    inside = [f"{name}.{_DELETED}" for name in _WITH_OUTCOMES if name != "done" or service != "sweep"]
    further = next((numbers[name] for name in inside if name in numbers), 0)
    found: list[Any] = [*(numbers.get(name, 0) for name in (_DELETED, _PURGED)), further]
    size: int = sum(each for each in found if _is_whole(each))
    return min(max(0, size), _MOST_BYTES)


def _object(text: str) -> dict[str, Any]:
    """The object of a JSON text; empty if it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _inside(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _digest(*values: str | int) -> bytes:
    return hashlib.blake2b(json.dumps(values).encode(), digest_size=_DIGEST_BYTES).digest()


def _key_type() -> TypeEngine[bytes]:
    binary = mysql.BINARY(_DIGEST_BYTES)
    return LargeBinary(_DIGEST_BYTES).with_variant(binary, "mysql", "mariadb")


def _text_type() -> TypeEngine[str]:
    long_text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return Text().with_variant(postgresql.TEXT(collation="C"), "postgresql").with_variant(long_text, "mysql", "mariadb")
