"""Tests of live-set stores: content versions, base locations, steps and deferred deletions."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from nessie_gc_core.connectors import LiveSetStore, SupportsVersionParts
from nessie_gc_core.model.live_sets import FileDeletion, LiveSetStatus, SweepStep, SweepStepState
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.testing.demands import demands, skip_without
from nessie_gc_core.testing.live_set_samples import (
    KOLKATA,
    LONG_TEXT,
    NOON,
    StoreFixtures,
    deletion,
    start,
    version,
)

NEAR_TEXTS = ("t", "T", "t ", " t", "", "é", "e\u0301", "e", "ß", "ss", "%", "_", "\\", "'", '"', "\t", "a\nb", "😀")
"""Strings that databases tend to confuse."""


class RowTests(StoreFixtures):
    """What belongs to a live set."""

    # ---- content versions -----------------------------------------------------------------------------
    @demands(
        "S17: content versions come back equal in every field; snapshot ids have 64 bits and may be negative or None."
    )
    def test_content_versions_come_back_equal(self, store: LiveSetStore, identifying: UUID) -> None:
        versions = [
            version(1),
            replace(version(2), metadata_location=None, snapshot_id=None, commit_time=None, location=None),
            replace(version(3), snapshot_id=-1),
            replace(version(4), snapshot_id=2**63 - 1, commit_time=NOON.astimezone(KOLKATA)),
        ]
        assert store.add_content_versions(identifying, versions) == 4
        assert _keyed(versions) == _keyed(store.content_versions(identifying))
        assert store.count_content_versions(identifying) == (4, 4)

    @demands("Versions with the same ContentVersion.identity are one, and only new ones are counted.")
    def test_versions_with_the_same_identity_are_one(self, store: LiveSetStore, identifying: UUID) -> None:
        seen_twice = replace(version(1), commit_id="another", content_key="renamed", commit_time=None)
        assert store.add_content_versions(identifying, [version(1), version(1), seen_twice]) == 1
        assert store.add_content_versions(identifying, [seen_twice]) == 0
        assert store.add_content_versions(identifying, [version(1), version(2)]) == 1
        assert {version(1).identity, version(2).identity} == {
            found.identity for found in store.content_versions(identifying)
        }

    @demands(
        "S6: versions that differ in any part of ContentVersion.identity are different; None, -1 and the empty string "
        "differ too."
    )
    def test_versions_that_differ_in_any_part_of_their_identity_are_several(
        self, store: LiveSetStore, identifying: UUID
    ) -> None:
        one = version(1)
        versions = [
            one,
            replace(one, content_id="another"),
            replace(one, content_type="ANOTHER"),
            replace(one, metadata_location="another"),
            replace(one, metadata_location=None),
            replace(one, metadata_location=""),
            replace(one, snapshot_id=7),
            replace(one, snapshot_id=None),
            replace(one, snapshot_id=-1),
        ]
        assert len(versions) == store.add_content_versions(identifying, versions)
        assert store.add_content_versions(identifying, versions) == 0
        assert (len(versions), 2) == store.count_content_versions(identifying)

    @demands("S4: texts are compared character by character. Use a binary collation.")
    def test_texts_that_are_nearly_equal_are_not_taken_for_each_other(
        self, store: LiveSetStore, identifying: UUID
    ) -> None:
        versions = [version(1, content_id=text) for text in NEAR_TEXTS]
        assert len(NEAR_TEXTS) == store.add_content_versions(identifying, versions)
        assert sorted(NEAR_TEXTS) == sorted(store.content_ids(identifying))
        for text in NEAR_TEXTS:
            assert [text] == [found.content_id for found in store.content_versions(identifying, [text])]
            store.add_base_locations(identifying, [(text, f"s3://bucket/{text}")])
            assert [(text, f"s3://bucket/{text}")] == list(store.base_locations(identifying, text))

    @demands("S17: nothing is cut. Strings of any length come back complete, and are compared completely.")
    def test_long_texts_come_back_whole(self, store: LiveSetStore, identifying: UUID) -> None:
        texts = [LONG_TEXT, LONG_TEXT + "2"]
        versions = [
            replace(
                version(1), content_id=text, metadata_location=text, content_key=text, location=text, commit_id=text
            )
            for text in texts
        ]
        assert store.add_content_versions(identifying, versions) == 2
        assert _keyed(versions) == _keyed(store.content_versions(identifying))
        assert [versions[1]] == list(store.content_versions(identifying, [texts[1]]))

    @demands("Live sets do not see each other's rows.")
    def test_live_sets_do_not_see_each_other(self, store: LiveSetStore, identifying: UUID, repository: str) -> None:
        other = start(store, repository)
        mine, theirs = [version(n) for n in range(5)], [version(n) for n in range(15)]
        store.add_content_versions(identifying, mine)
        store.add_content_versions(other, theirs)
        store.add_base_locations(other, [("content-1", "s3://bucket/theirs")])
        assert (store.count_content_versions(identifying), store.count_content_versions(other)) == ((5, 5), (15, 15))
        assert _keyed(mine) == _keyed(store.content_versions(identifying))
        assert _keyed(theirs) == _keyed(store.content_versions(other))
        assert list(store.base_locations(identifying)) == []

    @demands("S6: streams of any length are stored and come back completely, each row once.")
    def test_a_stream_of_many_versions_goes_in_and_comes_out(self, store: LiveSetStore, identifying: UUID) -> None:
        many = 3210
        assert many == store.add_content_versions(
            identifying, (version(n, content_id=f"c{n % 100}") for n in range(many))
        )
        assert (many, 100) == store.count_content_versions(identifying)
        assert 100 == len(set(store.content_ids(identifying))) == len(list(store.content_ids(identifying)))
        found = [each.identity for each in store.content_versions(identifying)]
        assert many == len(found) == len(set(found))
        assert len(list(store.content_versions(identifying, ["c7"]))) == 33

    @demands("S6: for some contents, all of their versions come and no others, each once; for no contents, none.")
    def test_versions_of_some_contents_are_all_of_theirs_and_no_others(
        self, store: LiveSetStore, identifying: UUID
    ) -> None:
        many, some = 2000, [f"c{n}" for n in range(0, 700, 2)]
        store.add_content_versions(identifying, (version(n, content_id=f"c{n % 700}") for n in range(many)))
        found = [each.snapshot_id for each in store.content_versions(identifying, [*some, "c0", "unknown"])]
        expected = [version(n).snapshot_id for n in range(many) if n % 700 % 2 == 0]
        assert sorted(expected, key=str) == sorted(found, key=str)
        assert list(store.content_versions(identifying, [])) == []

    @demands("SupportsVersionParts: S6: parts of any number are disjoint, and together all versions, each as it is.")
    @pytest.mark.parametrize("parts", [1, 2, 7, 300])
    def test_parts_are_disjoint_and_together_everything(
        self,
        open_store: Callable[[], LiveSetStore],
        store: LiveSetStore,
        identifying: UUID,
        repository: str,
        parts: int,
    ) -> None:
        versions = [version(n, content_id=f"c{n % 50}") for n in range(500)]
        store.add_content_versions(identifying, versions)
        store.add_content_versions(start(store, repository), [version(n) for n in range(500, 520)])
        found = [list(_in_parts(store).content_versions_of_part(identifying, n, parts)) for n in range(parts)]
        assert sum(map(len, found)) == len(versions), "parts that overlap, or lose some"
        assert _keyed(versions) == _keyed(itertools.chain(*found))
        assert list(_in_parts(store).content_versions_of_part(uuid4(), 0, parts)) == []
        if parts == 7:
            assert max(map(len, found)) < 250, "parts have about the same size, so that several readers help"
        if store.multi_process:
            with open_store() as other:
                assert found[-1] == list(_in_parts(other).content_versions_of_part(identifying, parts - 1, parts))

    @demands("Rows may be written while others are read: do not hold a lock during a stream that the caller consumes.")
    def test_rows_may_be_written_while_others_are_read(self, store: LiveSetStore, identifying: UUID) -> None:
        store.add_content_versions(identifying, (version(n) for n in range(2500)))
        read = 0
        for found in store.content_versions(identifying):
            read += 1
            if read % 500 == 0:
                store.add_base_locations(identifying, [(found.content_id, "s3://bucket/t")])
        assert read == 2500
        assert len(list(store.base_locations(identifying))) == 5

    @demands("Rows to write may be computed from a stream of the same store: do not hold a lock during either.")
    def test_what_is_written_may_be_computed_from_what_is_read(self, store: LiveSetStore, expiring: UUID) -> None:
        store.add_file_deletions(expiring, (deletion(n) for n in range(1500)))

        def moved() -> Iterator[FileDeletion]:
            for found in store.file_deletions(expiring):
                yield replace(found, path=found.path + ".copy")

        assert store.add_file_deletions(expiring, list(moved())) == 1500
        assert store.remove_file_deletions(expiring, store.file_deletions(expiring)) == 3000

    @demands("A stream can be closed early, and leaves no lock or transaction behind.")
    def test_a_stream_can_be_left(self, store: LiveSetStore, identifying: UUID) -> None:
        store.add_content_versions(identifying, (version(n) for n in range(1200)))
        for _ in range(10):
            stream = store.content_versions(identifying)
            next(stream)
            close = getattr(stream, "close", None)
            if close is not None:
                close()
        store.finish_identify(identifying, at=NOON)
        assert LiveSetStatus.IDENTIFY_SUCCESS is store.get(identifying).status

    @demands("Threads that add the same versions at once count each of them once.")
    def test_threads_that_add_the_same_versions_count_each_once(self, store: LiveSetStore, identifying: UUID) -> None:
        def add(offset: int) -> int:
            return store.add_content_versions(identifying, (version(n) for n in range(offset, offset + 300)))

        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(add, [0, 50, 100, 0, 50, 100])) == 400
        assert store.count_content_versions(identifying) == (400, 400)

    # ---- base locations -------------------------------------------------------------------------------
    @demands("S1: raw base locations are kept once for each content, as they were given.")
    def test_base_locations_are_kept_once_for_each_content(self, store: LiveSetStore, identifying: UUID) -> None:
        one, two, long = "s3://bucket/t", "s3://bucket/t/", "s3://bucket/" + LONG_TEXT
        assert store.add_base_locations(identifying, [("a", one), ("a", two), ("a", one)]) == 2
        assert store.add_base_locations(identifying, [("a", one), ("a", long)]) == 1
        assert store.add_base_locations(identifying, iter([("b", one), ("a", two)])) == 1
        assert sorted([("a", one), ("a", two), ("a", long), ("b", one)]) == sorted(store.base_locations(identifying))
        assert [("b", one)] == list(store.base_locations(identifying, "b"))
        assert list(store.base_locations(identifying, "c")) == []

    # ---- steps ----------------------------------------------------------------------------------------
    @demands("S15: a step that is recorded again replaces the one with the same unit and part.")
    def test_a_step_that_is_recorded_again_replaces_itself(self, store: LiveSetStore, expiring: UUID) -> None:
        started = SweepStep(
            unit=LONG_TEXT, part="0/2", state=SweepStepState.STARTED, planned_files=2**40, planned_bytes=2**60
        )
        other = replace(started, part="1/2")
        done = replace(
            started, state=SweepStepState.DONE, outcomes={"deleted": (2**40 - 1, 2**60 - 7), "failed": (1, 7)}
        )
        for steps in ([started, other], [done], iter([done]), []):
            store.record_steps(expiring, steps)
        assert [done, other] == sorted(store.steps(expiring), key=lambda step: step.part)

    @demands(
        "S15: when record_steps returns, every step of a long stream is recorded; of steps with the same name, the "
        "last one."
    )
    def test_many_steps_are_recorded_at_once(self, store: LiveSetStore, expiring: UUID) -> None:
        first = SweepStep(unit="u", part="1:1/1", state=SweepStepState.STARTED, planned_files=1, planned_bytes=1)
        many = [replace(first, unit=f"s3://bucket/t{n}/") for n in range(2345)]
        last = replace(many[7], state=SweepStepState.DONE)
        store.record_steps(expiring, iter([*many, last]))
        found = {step.unit: step for step in store.steps(expiring)}
        assert {**{step.unit: step for step in many}, last.unit: last} == found

    # ---- deferred deletions ---------------------------------------------------------------------------
    @demands("S15: deferred deletions are kept once for each location and path, and come ordered by location.")
    def test_deferred_deletions_are_kept_once_and_come_ordered_by_location(
        self, store: LiveSetStore, expiring: UUID
    ) -> None:
        deletions = [deletion(n) for n in range(9)]
        assert store.add_file_deletions(expiring, [*deletions, deletions[0]]) == 9
        assert store.add_file_deletions(expiring, [replace(deletions[1], size=None, modified=None)]) == 0
        store.finish_expire(expiring, at=NOON)
        found = list(store.file_deletions(expiring))
        assert sorted(each.location for each in deletions) == [each.location for each in found]
        assert {(each.location, each.path) for each in deletions} == {(each.location, each.path) for each in found}

    @demands("S4 and S17: deferred deletions come back equal: raw paths, sizes and times.")
    def test_deferred_deletions_come_back_equal(self, store: LiveSetStore, expiring: UUID) -> None:
        deletions = [
            FileDeletion(location="s3://b/t/", path="a b%20c#d?e:f//g", size=0, modified=NOON.astimezone(KOLKATA)),
            FileDeletion(location="s3://b/t/", path=LONG_TEXT, size=2**62, modified=None),
            FileDeletion(location="s3://b/" + LONG_TEXT + "/", path="x", size=None, modified=None),
            *(FileDeletion(location="s3://b/near/", path=text, size=1, modified=NOON) for text in NEAR_TEXTS),
        ]
        assert len(deletions) == store.add_file_deletions(expiring, deletions)
        assert _by_name(deletions) == _by_name(store.file_deletions(expiring))

    @demands("S15: finished deferred deletions are forgotten, and those that existed are counted.")
    def test_deferred_deletions_that_are_done_are_forgotten_and_counted(
        self, store: LiveSetStore, expiring: UUID
    ) -> None:
        deletions = [deletion(n) for n in range(1500)]
        store.add_file_deletions(expiring, deletions)
        store.finish_expire(expiring, at=NOON)
        unknown = FileDeletion(location="s3://bucket/t0/", path="never", size=None, modified=None)
        assert store.remove_file_deletions(expiring, [deletions[0], unknown]) == 1
        assert store.remove_file_deletions(expiring, deletions[:-1]) == 1498
        assert [deletions[-1]] == list(store.file_deletions(expiring))


def _in_parts(store: LiveSetStore) -> SupportsVersionParts:
    """The store as one that is read in parts."""
    if not isinstance(store, SupportsVersionParts):
        skip_without(store, SupportsVersionParts)
    return store


def _keyed(versions: Iterable[ContentVersion]) -> dict[object, ContentVersion]:
    return {version.identity: version for version in versions}


def _by_name(deletions: Iterable[FileDeletion]) -> dict[tuple[str, str], FileDeletion]:
    return {(each.location, each.path): each for each in deletions}
