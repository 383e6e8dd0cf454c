"""Writes records as Nessie does, for databases that no server has filled."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg

NO_COMMIT = bytes.fromhex("2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d")
OLD = 1_600_000_000_000_000
"""A stamp of long ago."""
TABLES = """
CREATE TABLE refs2 (repo VARCHAR, ref_name VARCHAR, pointer BYTEA, ext_info BYTEA, prev_ptr BYTEA,
  created_at BIGINT DEFAULT 0, deleted BOOLEAN, PRIMARY KEY (repo, ref_name));
CREATE TABLE objs2 (repo VARCHAR, obj_id BYTEA, obj_type VARCHAR, obj_vers VARCHAR, obj_value BYTEA, obj_ref BIGINT,
  PRIMARY KEY (repo, obj_id));
"""


def varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)


def message(*fields: tuple[int, int | bytes | str]) -> bytes:
    """A protocol buffer of these fields."""
    written = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            written += varint(number << 3) + varint(value)
        else:
            data = value.encode() if isinstance(value, str) else value
            written += varint(number << 3 | 2) + varint(len(data)) + data
    return bytes(written)


Element = tuple[bytes, str, bytes]
"""A key, its parts with zero bytes between, an action, and the id of a value."""


def index(elements: Iterable[Element], *, version: int = 2) -> bytes:
    """A key index; the elements are sorted by their keys."""
    ordered = sorted(elements)
    written = bytearray([version])
    if version == 2:
        written += varint(len(ordered))
    previous = None
    for key, action, value in ordered:
        whole = key + b"\0\0"
        if previous is None:
            written += whole
        else:
            pairs = enumerate(zip(previous, whole, strict=False))
            same = next((at for at, (left, right) in pairs if left != right), min(len(previous), len(whole)))
            written += varint(len(previous) - same) + whole[same:]
        written += action.encode() + b"\x01" + varint(len(value)) + value + bytes(16)
        previous = whole
    return bytes(written)


@dataclass
class Records:
    """The records and references of a repository."""

    rows: dict[bytes, tuple[str, str | None, bytes, int | None]] = field(default_factory=dict)
    references: dict[str, tuple[bytes, bool, bytes | None]] = field(default_factory=dict)
    created: dict[bytes, bytes] = field(default_factory=dict)
    dropped: list[bytes] = field(default_factory=list)
    stamp: int | None = OLD

    def add(self, kind: str, data: bytes, *, id_: bytes | None = None, version: str | None = None) -> bytes:
        """Adds a record with whatever it holds; gives its id."""
        id_ = id_ if id_ is not None else hashlib.sha256(kind.encode() + data).digest()
        self.rows[id_] = (kind, version, data, self.stamp)
        return id_

    def value(self, location: str, content_id: str | None = None, *, payload: int = 1) -> bytes:
        """Adds a state of an Iceberg table, and the unique id of its content."""
        content_id = content_id or str(uuid.uuid5(uuid.NAMESPACE_URL, location))
        content = message((2, message((1, 7), (5, location))), (5, content_id))
        self.unique_id(content_id)
        return self.add("v", message((4, message((1, content_id), (2, payload), (3, content)))))

    def unique_id(self, content_id: str, space: str = "content-id") -> bytes:
        """Adds a unique id."""
        raw = uuid.UUID(content_id).bytes
        id_ = hashlib.sha256(b"UNIQUE" + space.encode() + raw).digest()
        return self.add("u", message((10, message((1, space), (2, raw)))), id_=id_)

    def commit(
        self,
        puts: Mapping[str, bytes] | None = None,
        *,
        parents: Sequence[bytes] = (NO_COMMIT,),
        merged: Sequence[bytes] = (),
        elements: Sequence[Element] = (),
        stripes: Sequence[bytes] = (),
        more: Sequence[tuple[int, int | bytes | str]] = (),
    ) -> bytes:
        """Adds a commit."""
        added = [(key.encode(), "A", value) for key, value in (puts or {}).items()]
        fields: list[tuple[int, int | bytes | str]] = [
            (1, OLD),
            (2, len(self.rows)),
            *((3, parent) for parent in parents),
            *((4, parent) for parent in merged),
            (6, "a message"),
            *((8, message((1, "a"), (2, "z"), (3, stripe))) for stripe in stripes),
            (9, index([*added, *elements])),
            (11, 1),
            *more,
        ]
        return self.add("c", message((2, message(*fields))))

    def index(self, elements: Iterable[Element]) -> bytes:
        """Adds an index."""
        return self.add("i", message((6, message((1, index(elements))))))

    def reference(
        self, name: str, pointer: bytes, *, deleted: bool = False, previous: Sequence[tuple[bytes, int]] = ()
    ) -> None:
        """Points a reference somewhere."""
        before = b"".join(_delimited(message((1, old), (2, changed))) for old, changed in previous)
        self.references[name] = (pointer, deleted, before or None)

    def new_reference(self, name: str, pointer: bytes) -> None:
        """Adds a reference to the names, without the reference itself."""
        record = self.add("r", message((3, message((1, name), (2, pointer), (3, OLD)))))
        self.created[name.encode()] = record

    def drop_reference(self, name: str, pointer: bytes, time: int, **headers: str) -> None:
        """Notes the deletion of a reference."""
        written = {
            "operation": "delete",
            "name": name,
            "head": pointer.hex(),
            "timestamp.millis": str(time // 1000),
            **headers,
        }
        entries = [(5, message((1, key), (2, value))) for key, value in written.items() if value]
        self.dropped.append(self.commit(parents=[*self.dropped[-1:], NO_COMMIT], more=[(11, 2), *entries]))

    def finish(self) -> None:
        """Adds the internal references."""
        known = self.add("r", message((3, message((1, "refs/heads/main"), (2, NO_COMMIT), (3, OLD)))))
        names = [(name, "A", record) for name, record in {b"refs/heads/main": known, **self.created}.items()]
        self.reference("int/refs", self.commit(elements=names, parents=[*self.dropped[-1:], NO_COMMIT]))
        text = self.add("s", message((7, message((1, "application/json"), (2, 1), (54, "{}")))))
        self.reference("int/repo", self.commit({"repo\0description": text}))

    def write(self, url: str, *, repository: str = "", tables: bool = True) -> None:
        """Writes everything into a database."""
        with psycopg.connect(url) as connection:
            if tables:
                connection.execute(TABLES)
            with connection.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO objs2 (repo, obj_id, obj_type, obj_vers, obj_value, obj_ref) "
                    "VALUES (%s, %s, %s, %s, %s, %s)",
                    [(repository, id_, *row) for id_, row in self.rows.items()],
                )
                cursor.executemany(
                    "INSERT INTO refs2 (repo, ref_name, pointer, deleted, prev_ptr) VALUES (%s, %s, %s, %s, %s)",
                    [(repository, name, *row) for name, row in self.references.items()],
                )


def _delimited(data: bytes) -> bytes:
    return varint(len(data)) + data
