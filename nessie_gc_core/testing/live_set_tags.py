"""Tests of live-set stores that remember which tags a service created."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

from nessie_gc_core.connectors import LiveSetStore, SupportsTagRecords
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.testing.demands import demands, skip_without
from nessie_gc_core.testing.live_set_samples import KOLKATA, LONG_TEXT, NOON, StoreFixtures


def tag(name: str, *, holder: str = "") -> TagRecord:
    """A tag of noon that was created."""
    return TagRecord(
        holder=holder,
        name=name,
        prefix="date/",
        branch="main",
        instant=NOON,
        state_at=NOON + timedelta(minutes=5),
        periods=("hourly", "daily"),
        target="2e1cfa82b035c26cbbbdae632cea070514eb8b773f616aaeaf668e2f0be8f10d",
        made=True,
    )


class TagRecordTests(StoreFixtures):
    """Which tags were created."""

    @demands("SupportsTagRecords: records belong to one repository, come back whole, and outlive live sets.")
    def test_records_of_tags_belong_to_their_repository_and_stay(
        self, store: LiveSetStore, identifying: UUID, repository: str
    ) -> None:
        records = [
            tag("date/1"),
            replace(tag("date/1", holder="table"), made=False),
            replace(tag(LONG_TEXT, holder=LONG_TEXT), branch=LONG_TEXT, periods=()),
            replace(tag("date/2"), target=None),
        ]
        keeping = _keeping(store)
        keeping.put_tags(repository, iter(records))
        keeping.put_tags(repository + "2", [tag("date/3")])
        store.delete(identifying)
        assert _by_key(records) == _by_key(keeping.tags(repository))
        assert [tag("date/3")] == list(keeping.tags(repository + "2"))

    @demands("SupportsTagRecords: a record with the same holder and name is replaced. Times come back in UTC.")
    def test_a_record_of_a_tag_is_replaced_by_one_with_its_holder_and_name(
        self, store: LiveSetStore, repository: str
    ) -> None:
        keeping, later = _keeping(store), NOON + timedelta(hours=1)
        keeping.put_tags(repository, [replace(tag("a"), made=False), tag("b")])
        keeping.put_tags(repository, [replace(tag("a"), target="c0ffee", instant=later.astimezone(KOLKATA))])
        assert _by_key([replace(tag("a"), target="c0ffee", instant=later), tag("b")]) == _by_key(
            keeping.tags(repository)
        )
        assert all(timedelta(0) == each.instant.utcoffset() for each in keeping.tags(repository))

    @demands("SupportsTagRecords: forgetting records removes them, and no others.")
    def test_records_of_tags_that_are_forgotten_are_gone_and_no_others(
        self, store: LiveSetStore, repository: str
    ) -> None:
        keeping = _keeping(store)
        records = [tag(f"t{number}", holder=holder) for number in range(600) for holder in ("", "a")]
        keeping.put_tags(repository, records)
        keeping.put_tags(repository + "2", records[:1])
        gone = {("", f"t{number}") for number in range(0, 600, 2)}
        keeping.forget_tags(repository, iter([*gone, ("", "unknown"), ("b", "t1")]))
        assert _by_key(each for each in records if each.key not in gone) == _by_key(keeping.tags(repository))
        assert records[:1] == list(keeping.tags(repository + "2"))

    @demands(
        "SupportsTagRecords: count_records counts them, and move_records moves them; of two records, that of the "
        "created tag stays."
    )
    def test_records_of_tags_are_counted_and_move_along(self, store: LiveSetStore, repository: str) -> None:
        keeping, target = _keeping(store), f"name-{uuid4()}"
        doubtful = [replace(tag("c"), made=False), replace(tag("d"), made=False, target="0ther")]
        keeping.put_tags(repository, [tag("a"), tag("b"), tag("b", holder="table"), doubtful[0], doubtful[1]])
        keeping.put_tags(target, [replace(tag("b"), made=False), tag("c"), replace(tag("d"), made=False)])
        assert 5 == store.count_records(repository).tags == store.move_records(repository, target).tags
        expected = [tag("a"), tag("b"), tag("b", holder="table"), tag("c"), replace(tag("d"), made=False)]
        assert _by_key(expected) == _by_key(keeping.tags(target))
        assert list(keeping.tags(repository)) == []
        assert (store.count_records(repository).tags, store.count_records(repository).any) == (0, False)


def _keeping(store: LiveSetStore) -> SupportsTagRecords:
    """The store as one that keeps records of tags."""
    if not isinstance(store, SupportsTagRecords):
        skip_without(store, SupportsTagRecords)
    return store


def _by_key(records: Iterable[TagRecord]) -> dict[tuple[str, str], TagRecord]:
    return {each.key: each for each in records}
