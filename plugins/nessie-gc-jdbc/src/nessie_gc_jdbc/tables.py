"""The tables. Their version is :data:`SCHEMA_VERSION`; change both together, and write a migration.

Text has no limit, and no database may index that. So every key is a digest (:func:`digest`) of what makes a row
unique: equal means equal text, whatever the collation. A key of several parts begins with the digest of the first,
so that all rows of, say, a content are one range. Times are microseconds since the epoch, UTC.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from json.encoder import encode_basestring_ascii as _json
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    SmallInteger,
    String,
    Table,
    Text,
    select,
)
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.types import TypeEngine

SCHEMA_VERSION = 8
PREFIX = "nessie_gc_"
DIGEST_BYTES = 20
AFTER_ALL = b"\xff" * (3 * DIGEST_BYTES)
"""Greater than the rest of any key."""

metadata = MetaData()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def key_type(parts: int) -> TypeEngine[bytes]:
    """The type of a key of so many digests."""
    binary = mysql.BINARY(parts * DIGEST_BYTES)
    return LargeBinary(parts * DIGEST_BYTES).with_variant(binary, "mysql", "mariadb")


def text_type() -> TypeEngine[str]:
    """The type of text of any length, compared and sorted by code points everywhere."""
    long_text = mysql.LONGTEXT(charset="utf8mb4", collation="utf8mb4_bin")
    return Text().with_variant(postgresql.TEXT(collation="C"), "postgresql").with_variant(long_text, "mysql", "mariadb")


def _table(name: str, *columns: Column[Any], sqlite_with_rowid: bool = True) -> Table:
    """A table; without row ids SQLite has its rows in the order of the key, as MariaDB has all."""
    return Table(
        PREFIX + name,
        metadata,
        *columns,
        mysql_engine="InnoDB",
        mysql_charset="utf8mb4",
        sqlite_with_rowid=sqlite_with_rowid,
    )


def _live_set_id() -> Column[str]:
    target = ForeignKey(f"{PREFIX}live_sets.live_set_id", ondelete="CASCADE")
    return Column("live_set_id", String(36), target, primary_key=True)


def _key(name: str, parts: int) -> Column[bytes]:
    return Column(name, key_type(parts), primary_key=True)


def _required(name: str) -> Column[str]:
    return Column(name, text_type(), nullable=False)


def _occasion(*, nullable: bool) -> tuple[Column[int], ...]:
    """For when a job is due; where it never is, all of it is null that was there from the beginning."""
    times = (Column(name, BigInteger, nullable=nullable) for name in ("due", "starts"))
    numbers = Column("attempt", Integer, nullable=nullable), Column("by_hand", SmallInteger, nullable=nullable)
    repeated = Column("begun", SmallInteger, nullable=False), Column("lost", Integer, nullable=False)
    return (*times, *numbers, *repeated)


schema_version = _table(
    "schema",
    Column("id", SmallInteger, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
)
migrations = _table("migrations", Column("version_num", String(32), primary_key=True))
"""Alembic's own table, by its names."""
live_sets = _table(
    "live_sets",
    Column("live_set_id", String(36), primary_key=True),
    _required("repository"),
    Column("created", BigInteger, nullable=False),
    Column("status", String(40), nullable=False),
    Column("references_listed", BigInteger),
    Column("identify_completed", BigInteger),
    Column("expiry_started", BigInteger),
    Column("expiry_completed", BigInteger),
    Column("error_message", text_type()),
    _required("policies"),
    Column("versions_digest", String(80)),
    Column("deletions_digest", String(80)),
    Column("dropped_after", BigInteger),
    Column("dropped_left", BigInteger),
)
heads = _table(
    "heads",
    _live_set_id(),
    Column("position", Integer, primary_key=True, autoincrement=False),
    _required("name"),
    Column("commit_id", text_type()),
    _required("policy"),
)
content_versions = _table(
    "content_versions",
    _live_set_id(),
    _key("version_key", 2),
    _required("content_id"),
    _required("content_type"),
    Column("metadata_location", text_type()),
    Column("snapshot_id", BigInteger),
    _required("content_key"),
    _required("commit_id"),
    Column("commit_time", BigInteger),
    Column("location", text_type()),
)
base_locations = _table(
    "base_locations", _live_set_id(), _key("location_key", 2), _required("content_id"), _required("location")
)
steps = _table(
    "steps",
    _live_set_id(),
    _key("step_key", 1),
    _required("unit"),
    _required("part"),
    Column("state", String(40), nullable=False),
    Column("planned_files", BigInteger, nullable=False),
    Column("planned_bytes", BigInteger, nullable=False),
    _required("outcomes"),
)
deletion_locations = _table("deletion_locations", _live_set_id(), _key("location_key", 1), _required("location"))
file_deletions = _table(
    "file_deletions",
    _live_set_id(),
    _key("deletion_key", 2),
    _required("path"),
    Column("size", BigInteger),
    Column("modified", BigInteger),
)
tombstones = _table(
    "tombstones",
    _key("tombstone_key", 2),
    _required("repository"),
    _required("path"),
    Column("at", BigInteger, nullable=False),
)
seen_contents = _table(
    "seen_contents",
    _key("seen_key", 3),
    _required("repository"),
    _required("content_id"),
    _required("content_type"),
    _required("location"),
    Column("first_seen", BigInteger, nullable=False),
    Column("last_seen", BigInteger, nullable=False),
)
reached_places = _table(
    "reached_places",
    _key("reached_key", 3),
    _required("repository"),
    _required("content_id"),
    _required("place"),
)
tags = _table(
    "tags",
    _key("tag_key", 3),
    _required("repository"),
    _required("holder"),
    _required("name"),
    _required("prefix"),
    _required("branch"),
    Column("instant", BigInteger, nullable=False),
    Column("state_at", BigInteger, nullable=False),
    _required("periods"),
    Column("target", text_type()),
    Column("made", SmallInteger, nullable=False),
)
held_files = _table(
    "held_files",
    _key("held_key", 2),
    _required("repository"),
    Column("live_set_id", String(36), nullable=False),
    _required("place"),
    _required("held_path"),
    _required("location"),
    _required("path"),
    Column("size", BigInteger),
    Column("modified", BigInteger),
    _required("tables"),
    Column("sidecar", SmallInteger, nullable=False),
    Column("held", BigInteger, nullable=False),
    Column("ends", BigInteger, nullable=False),
    Column("state", String(40), nullable=False),
    Column("group_key", key_type(1), nullable=False),
)
Index(f"{PREFIX}held_files_groups", *(held_files.c[name] for name in ("group_key", "sidecar", "size")))
"""Has all that is summed of a quarantine, so that no row is looked at."""
leases = _table(
    "leases",
    _key("repository_key", 1),
    _required("repository"),
    _required("owner"),
    _required("host"),
    Column("process", BigInteger, nullable=False),
    Column("since", BigInteger, nullable=False),
    Column("ends", BigInteger, nullable=False),
)
jobs = _table(
    "jobs",
    _key("job_key", 2),
    _required("schedule"),
    _required("name"),
    _required("service"),
    _required("timing"),
    _required("definition"),
    _required("digest"),
    *_occasion(nullable=True),
    Column("last", BigInteger),
    Column("outcome", String(40)),
    Column("paused", SmallInteger, nullable=False),
    Column("run_id", String(36)),
    Column("removed", SmallInteger, nullable=False),
)
"""A job that is removed while it is paused leaves its row, so that it is paused when it comes back."""
job_runs = _table(
    "job_runs",
    _key("run_key", 3),
    Column("run_id", String(36), nullable=False, unique=True),
    _required("schedule"),
    _required("job"),
    _required("service"),
    *_occasion(nullable=False),
    Column("status", String(40), nullable=False),
    Column("started", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("exit_code", Integer),
    Column("error_message", text_type()),
    _required("host"),
    Column("process", BigInteger, nullable=False),
    _required("numbers"),
    Column("report", text_type()),
    Column("schedule_key", key_type(1), nullable=False),
    Column("job_digest", key_type(1), nullable=False),
    Column("day", Integer, nullable=False),
    Column("reclaimed", BigInteger, nullable=False),
)
"""Days are counted since the epoch, UTC."""
Index(f"{PREFIX}job_runs_days", *(job_runs.c[name] for name in ("schedule_key", "day", "status", "reclaimed")))
"""Has all that is summed by day, so that no row is looked at."""
Index(f"{PREFIX}job_runs_jobs", job_runs.c.job_digest, job_runs.c.status, job_runs.c.run_key)
Index(f"{PREFIX}job_runs_statuses", job_runs.c.status, job_runs.c.run_key)
table_days = _table(
    "table_days",
    Column("schedule_key", key_type(1), primary_key=True),
    Column("day", Integer, primary_key=True, autoincrement=False),
    Column("table_digest", key_type(1), primary_key=True),
    Column("table_name", text_type()),
    Column("garbage", BigInteger, nullable=False),
    Column("reclaimed", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""What runs say of tables; without a name: of all that they do not name."""
run_leases = _table(
    "run_leases",
    _key("lease_key", 2),
    Column("run_id", String(36), nullable=False),
    _required("job"),
    Column("run_key", key_type(3), nullable=False),
    Column("ends", BigInteger, nullable=False),
)
"""Of runs that are not finished."""


def indexes_of(table: Table) -> list[Index]:
    """Its indexes, by name."""
    return sorted(table.indexes, key=lambda index: str(index.name))


def repositories_of_tombstones() -> Select[tuple[str]]:
    """The identities under which there are tombstones."""
    return select(tombstones.c.repository).distinct()


def digest(*values: str | int | None) -> bytes:
    """A digest that tells all different values apart, text and numbers and none."""
    text = ", ".join(_json(value) if isinstance(value, str) else json.dumps(value) for value in values)
    return hashlib.blake2b(f"[{text}]".encode(), digest_size=DIGEST_BYTES).digest()


def key_of(*parts: str) -> bytes:
    """A key whose parts are single texts, most significant first."""
    return b"".join(_digest_of_text(part) for part in parts)


@lru_cache(1024)
def _digest_of_text(text: str) -> bytes:
    """Remembered, because rows of one content, or of one location, come together."""
    return digest(text)


def to_micros(time: datetime) -> int:
    """Microseconds since the epoch."""
    return (time - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The time, UTC."""
    return _EPOCH + timedelta(microseconds=micros)


def day_of(time: datetime) -> int:
    """The day, UTC, since the epoch."""
    return (time - _EPOCH).days


def day_number(day: date) -> int:
    """The same of a day."""
    return (day - _EPOCH.date()).days


def from_day(number: int) -> date:
    """The day."""
    return _EPOCH.date() + timedelta(days=number)


def optional_micros(time: datetime | None) -> int | None:
    """The same for a time that may be unknown."""
    return None if time is None else to_micros(time)


def optional_time(micros: int | None) -> datetime | None:
    """The same the other way round."""
    return None if micros is None else from_micros(micros)


def create_script(dialect: Dialect) -> str:
    """The statements that create the tables, each with its semicolon."""
    made: list[ExecutableDDLElement] = [CreateTable(table) for table in metadata.sorted_tables]
    made += [CreateIndex(index) for table in metadata.sorted_tables for index in indexes_of(table)]
    created = [str(each.compile(dialect=dialect)).strip() for each in made]
    version = f"INSERT INTO {schema_version.name} (id, version) VALUES (1, {SCHEMA_VERSION})"
    revision = f"INSERT INTO {migrations.name} (version_num) VALUES ('{SCHEMA_VERSION}')"
    return "".join(f"{statement};\n\n" for statement in [*created, version, revision])
