"""Random repositories: what goes is what a slow reading of the rules allows, no more and no less."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nessie_gc_internal import InternalGcParameters
from nessie_gc_internal.objects import previous_pointers
from nessie_gc_internal.service import clean_store
from nessie_gc_internal.store import Deleted, Deletion, ObjectRow, ObjectStore, StoredObject, StoredReference
from records import NO_COMMIT, OLD, Records, message

DAY = 86_400_000_000
NOW = OLD + 10 * DAY
YOUNG = NOW - 1
_WAYS = ("branch", "deleted", "new", "earlier", "long ago", "dropped", "dropped long ago")
KNOWN = ("c", "v", "r", "i", "I", "s", "t", "u", "c-e", "c-s")


class MemoryStore(ObjectStore, Deletion):
    """Records in this process."""

    address = "memory"
    repository_id = ""

    def __init__(self, records: Records) -> None:
        self.clock = NOW
        self.rows = dict(records.rows)
        self._references = [
            StoredReference(name=name, pointer=pointer, deleted=deleted, previous=previous_pointers(before or b""))
            for name, (pointer, deleted, before) in records.references.items()
        ]

    def check(self, *, deletes: bool) -> None:
        pass

    def now(self) -> int:
        return self.clock

    def counts(self) -> Mapping[str, int]:
        return dict.fromkeys((kind for kind, *_ in self.rows.values()), 1)

    def references(self) -> list[StoredReference]:
        return self._references

    def pointers(self) -> Mapping[str, bytes]:
        return {each.name: each.pointer for each in self._references}

    def fetch(self, ids: Sequence[bytes]) -> list[StoredObject]:
        return [StoredObject(id=id_, kind=self.rows[id_][0], data=self.rows[id_][2]) for id_ in ids if id_ in self.rows]

    def written_after(self, time: int) -> Generator[bytes]:
        yield from [id_ for id_, (*_, stamp) in self.rows.items() if (stamp or 0) > time]

    def scan(self) -> Generator[ObjectRow]:
        for id_, (kind, version, data, stamp) in list(self.rows.items()):
            yield ObjectRow(id_, kind, version, stamp, len(data))

    @contextmanager
    def deletion(self) -> Iterator[Deletion]:
        yield self

    def delete(self, rows: Sequence[ObjectRow]) -> Deleted:
        for row in rows:
            del self.rows[row.id]
        return Deleted(deleted=frozenset(row.id for row in rows), changed=frozenset())

    def close(self) -> None:
        pass


@dataclass
class World:
    """A repository that is written by chance, and who names whom in it."""

    data: st.DataObject
    records: Records = field(default_factory=Records)
    names: dict[bytes, set[bytes]] = field(default_factory=dict)
    commits: list[bytes] = field(default_factory=list)
    values: list[bytes] = field(default_factory=list)
    heads: set[bytes] = field(default_factory=set)

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    def some(self, ids: Sequence[bytes], most: int) -> list[bytes]:
        return self.draw(st.lists(st.sampled_from(ids), max_size=most, unique=True)) if ids else []

    def note(self, id_: bytes, named: Sequence[bytes]) -> bytes:
        self.names[id_] = set(named)
        return id_

    def choose_stamp(self) -> None:
        self.records.stamp = self.draw(st.sampled_from((OLD, OLD, OLD, YOUNG)))

    def add_value(self) -> None:
        self.choose_stamp()
        before = set(self.records.rows)
        value = self.records.value(f"s3://{len(self.values)}")
        (unique_id,) = set(self.records.rows) - before - {value}
        self.names[unique_id] = set()
        self.values.append(self.note(value, [unique_id]))

    def add_index(self) -> bytes:
        values = self.some(self.values, 3)
        elements = [(f"i{len(self.names)}-{at}".encode(), "N", value) for at, value in enumerate(values)]
        return self.note(self.records.index(elements), values)

    def add_commit(self) -> None:
        self.choose_stamp()
        tail, merged, added = self.some(self.commits, 2), self.some(self.commits, 1), self.some(self.values, 3)
        removed = self.some(self.values, 1)
        stripes = [self.add_index() for _ in range(self.draw(st.integers(0, 2)))]
        pointer = []
        if self.draw(st.booleans()):
            inner = [self.add_index() for _ in range(2)]
            body = message(*((1, message((3, each))) for each in inner))
            pointer = [self.note(self.records.add("I", message((5, body))), inner)]
        elements = [(f"r{at}".encode(), "R", value) for at, value in enumerate(removed)]
        commit = self.records.commit(
            {f"k{at}": value for at, value in enumerate(added)},
            parents=[*tail, NO_COMMIT],
            merged=merged,
            elements=elements,
            stripes=stripes,
            more=[(7, each) for each in pointer],
        )
        self.commits.append(self.note(commit, [*tail, *merged, *added, *stripes, *pointer]))

    def add_reference(self) -> None:
        if not self.commits:
            return
        count = len(self.records.references) + len(self.records.created)
        pointer, name = self.draw(st.sampled_from(self.commits)), f"refs/heads/{count}"
        how = self.draw(st.sampled_from(_WAYS))
        if how == "new":
            self.records.new_reference(name, pointer)
        elif how in ("earlier", "long ago"):
            changed = YOUNG if how == "earlier" else OLD
            self.records.reference(name, NO_COMMIT, previous=[(pointer, changed)])
        elif how in ("dropped", "dropped long ago"):
            dropped = self.draw(st.sampled_from((pointer, b"\7" * 32)))  # the commit may be missing
            self.records.drop_reference(name, dropped, YOUNG if how == "dropped" else OLD)
            pointer = dropped
        else:
            self.records.reference(name, pointer, deleted=how == "deleted")
        if how not in ("long ago", "dropped long ago"):
            self.heads.add(pointer)

    def add_stranger(self) -> None:
        self.choose_stamp()
        self.note(self.records.add("x-y", message((9, message((1, "x-y"), (2, f"{len(self.names)}"))))), [])

    def allowed(self) -> set[bytes]:
        """The ids of the records that may go."""
        young = {id_ for id_, (*_, stamp) in self.records.rows.items() if stamp == YOUNG}
        needed, waiting = set(), [*self.heads, *young]
        while waiting:
            id_ = waiting.pop()
            if id_ not in needed:
                needed.add(id_)
                waiting += self.names.get(id_, ())
        rows = self.records.rows
        return {id_ for id_ in self.names if id_ not in needed and rows[id_][0] in KNOWN}


@pytest.mark.parametrize(("ours", "gone"), [(NOW + DAY, 0), (NOW - DAY, 0), (NOW + 2 * DAY, 1)])
def test_s08_the_earlier_of_both_clocks_counts(ours: int, gone: int) -> None:
    records = Records(stamp=NOW - DAY // 2)
    records.add("s", message((7, message((1, "text"), (2, 1), (54, "dead")))))
    records.finish()
    store = MemoryStore(records)
    store.clock = NOW + 2 * DAY if gone else NOW
    clock = datetime.fromtimestamp(ours / 1_000_000, UTC)
    report = clean_store(store, InternalGcParameters(), tell=lambda *_: None, clock=lambda: clock).report
    assert gone == report.total("purged").records


def test_s15_a_run_that_has_to_end_sends_no_further_deletion() -> None:
    records = Records(stamp=OLD)
    for number in range(5):
        records.add("s", message((7, message((1, "text"), (2, 1), (54, f"dead {number}")))))
    records.finish()
    store, asked = MemoryStore(records), list[int]()
    before = len(store.rows)

    def tell(phase: str, done: int, total: int | None) -> None:
        if phase == "purge":
            asked.append(len(store.rows))
            if len(asked) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        clean_store(store, InternalGcParameters(purge_batch_size=2), tell=tell)
    assert ([before, before - 2], before - 2) == (asked, len(store.rows))


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_exactly_what_the_rules_allow_goes(data: st.DataObject) -> None:
    world = World(data)
    steps = data.draw(
        st.lists(st.sampled_from(("value", "value", "commit", "commit", "reference", "stranger")), max_size=30)
    )
    for step in steps:
        getattr(world, f"add_{step}")()
    world.records.stamp = OLD
    world.records.finish()
    allowed, store = world.allowed(), MemoryStore(world.records)
    size = data.draw(st.integers(1, 5))
    report = clean_store(store, InternalGcParameters(purge_batch_size=size), tell=lambda *_: None).report
    assert allowed == world.records.rows.keys() - store.rows.keys()
    assert len(allowed) == report.total("purged").records
