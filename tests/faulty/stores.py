from __future__ import annotations

import itertools
import sqlite3
import threading
import zlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import test_store as example
from nessie_gc_ledger import LedgerStore
from nessie_gc_ledger.registers import LedgerStoreOptions

from faulty import fault
from nessie_gc_core.connectors import SupportsJavaTables
from nessie_gc_core.errors import LeaseHeldError, LiveSetNotFoundError, LiveSetStateError, StoreError
from nessie_gc_core.model import LiveSetStatus, RowsDigest
from nessie_gc_core.testing.demands import skip_without
from nessie_gc_core.testing.live_set_java import JavaRows


class StoreTests(example.TestLedgerStore):
    connector = LedgerStore

    @pytest.fixture
    def put_java_rows(self, store):
        if not isinstance(store, JavaTables):
            skip_without(store, SupportsJavaTables)

        def put(rows):
            store.java_rows = rows
            return store

        return put


class TestGood(StoreTests):
    pass


STATUS = "test_a_verb_that_does_not_fit_the_status_raises_and_changes_nothing"
LEASE = "test_a_held_lease_is_refused_to_others_and_names_its_holder"
UNUSABLE = "test_a_store_that_cannot_be_used_is_an_error_and_not_empty"


@fault(StoreTests, UNUSABLE, "S15: an unusable store never counts as an empty one")
class UnusableIsEmpty(LedgerStore):
    def live_sets(self):
        try:
            yield from super().live_sets()
        except StoreError:
            return


@fault(StoreTests, UNUSABLE, "S15: an unusable store never counts as an empty one")
class ErrorsOfTheDriver(LedgerStore):
    def live_sets(self):
        try:
            yield from super().live_sets()
        except StoreError as error:
            raise sqlite3.OperationalError(str(error)) from error


@fault(StoreTests, STATUS, "S15: a status changes by compare-and-set")
class AnyStatusWillDo(LedgerStore):
    def finish_expire(self, live_set_id, **more):
        try:
            super().finish_expire(live_set_id, **more)
        except LiveSetStateError:
            return


@fault(StoreTests, STATUS, "S15: a status changes by compare-and-set")
class VersionsAtAnyTime(LedgerStore):
    def add_content_versions(self, live_set_id, versions):
        with self._rows.transaction() as rows:
            self.get_in(rows, live_set_id)
            return sum(rows.add("version", str(live_set_id), v.content_id, repr(v.identity), v) for v in versions)

    def get_in(self, rows, live_set_id):
        if rows.get("live set", "", "", str(live_set_id)) is None:
            raise LiveSetNotFoundError(f"live set {live_set_id} does not exist")


@fault(StoreTests, "test_only_one_of_many_threads_starts_a_sweep", "S15: a status changes by compare-and-set")
class ChecksBeforeItSets(LedgerStore):
    barrier = threading.Barrier(8)

    def start_expire(self, live_set_id, *, at, resume=False):
        found = self.get(live_set_id)
        if found.status is not LiveSetStatus.IDENTIFY_SUCCESS:
            raise LiveSetStateError(f"{found.status}, expected IDENTIFY_SUCCESS")
        self.barrier.wait(10)
        with self._rows.transaction() as rows:
            begun = replace(found, status=LiveSetStatus.EXPIRY_IN_PROGRESS, expiry_started=at)
            rows.put("live set", "", "", str(live_set_id), begun)


@fault(
    StoreTests,
    "test_a_verb_that_needs_a_live_set_names_the_one_that_does_not_exist",
    "An id that does not exist is an error",
)
class UnknownIdsAreIgnored(LedgerStore):
    def delete(self, live_set_id):
        try:
            super().delete(live_set_id)
        except LiveSetNotFoundError:
            return


@fault(StoreTests, "test_an_id_that_exists_cannot_be_started_again", "An id that exists cannot be started again")
class StartsOver(LedgerStore):
    def start_identify(self, live_set_id, **more):
        try:
            super().start_identify(live_set_id, **more)
        except LiveSetStateError:
            self.delete(live_set_id)
            super().start_identify(live_set_id, **more)


@fault(StoreTests, "test_failures_are_kept_whole_and_cannot_be_left_but_by_resuming", "S17: the text of a failure is")
class CutsFailures(LedgerStore):
    def finish_expire(self, live_set_id, *, failure=None, **more):
        super().finish_expire(live_set_id, failure=failure and failure[:255], **more)


@fault(StoreTests, "test_a_resumed_sweep_keeps_its_first_start_and_forgets_the_failure", "S15: a resumed sweep keeps")
class ForgetsTheFirstStart(LedgerStore):
    def start_expire(self, live_set_id, *, at, resume=False):
        super().start_expire(live_set_id, at=at, resume=resume)
        with self._rows.transaction() as rows:
            row = rows.get("live set", "", "", str(live_set_id))
            assert row is not None
            rows.put("live set", "", "", str(live_set_id), {**row, "expiry_started": at})


@fault(
    StoreTests, "test_times_come_back_equal_and_in_utc_whatever_their_zone", "S17: times come back equal, aware, in UTC"
)
class WallClocks(LedgerStore):
    def start_identify(self, live_set_id, *, repository, created, policies=()):
        naive = created.replace(tzinfo=UTC)
        super().start_identify(live_set_id, repository=repository, created=naive, policies=policies)


@fault(StoreTests, "test_a_live_set_goes_through_its_whole_life", "S17: a live set comes back as it was written")
class Seconds(LedgerStore):
    def start_identify(self, live_set_id, *, repository, created, policies=()):
        whole = created.replace(microsecond=0)
        super().start_identify(live_set_id, repository=repository, created=whole, policies=policies)


@fault(StoreTests, "test_live_sets_come_newest_first", "Live sets come newest first")
class OldestFirst(LedgerStore):
    def live_sets(self):
        yield from reversed(list(super().live_sets()))


@fault(
    StoreTests, "test_a_deleted_live_set_is_gone_with_its_rows_and_no_other_is", "Deleting a live set deletes all of"
)
class LeavesRows(LedgerStore):
    def delete(self, live_set_id):
        self.get(live_set_id)
        with self._rows.transaction() as rows:
            rows.remove("live set", "", "", str(live_set_id))


@fault(StoreTests, "test_a_store_that_is_opened_again_has_what_it_had", "S15: what was written is there when")
class EmptiesItself(LedgerStore):
    def close(self):
        assert isinstance(self.options, LedgerStoreOptions)
        Path(self.options.file).unlink(missing_ok=True)


@fault(
    StoreTests,
    "test_texts_that_are_nearly_equal_are_not_taken_for_each_other",
    "S4: texts are compared character by character",
)
class IgnoresCase(LedgerStore):
    def add_content_versions(self, live_set_id, versions):
        return super().add_content_versions(
            live_set_id, (replace(v, content_id=v.content_id.lower()) for v in versions)
        )


@fault(StoreTests, "test_long_texts_come_back_whole", "S17: nothing is cut")
class CutsTexts(LedgerStore):
    def add_content_versions(self, live_set_id, versions):
        return super().add_content_versions(live_set_id, (replace(v, location=v.location[:255]) for v in versions))


@fault(
    StoreTests,
    "test_versions_that_differ_in_any_part_of_their_identity_are_several",
    "S6: versions that differ in any part of ContentVersion.identity",
)
class NoneIsEmptyText(LedgerStore):
    def add_content_versions(self, live_set_id, versions):
        changed = (replace(v, metadata_location=v.metadata_location or "") for v in versions)
        return super().add_content_versions(live_set_id, changed)


@fault(StoreTests, "test_versions_with_the_same_identity_are_one", "Versions with the same ContentVersion.identity")
class CountsAll(LedgerStore):
    def add_content_versions(self, live_set_id, versions):
        kept = list(versions)
        super().add_content_versions(live_set_id, kept)
        return len(kept)


@fault(StoreTests, "test_live_sets_do_not_see_each_other", "Live sets do not see each other's rows")
class OneSetOfVersions(LedgerStore):
    def content_versions(self, live_set_id, content_ids=None):
        for live_set in super().live_sets():
            yield from super().content_versions(live_set.id, content_ids)


@fault(StoreTests, "test_a_stream_of_many_versions_goes_in_and_comes_out", "S6: streams of any length are stored and")
class OnePage(LedgerStore):
    def content_versions(self, live_set_id, content_ids=None):
        for number, found in enumerate(super().content_versions(live_set_id, content_ids)):
            if number < 1000:
                yield found


@fault(StoreTests, "test_versions_of_some_contents_are_all_of_theirs_and_no_others", "S6: for some contents, all of")
class FirstOfThem(LedgerStore):
    def content_versions(self, live_set_id, content_ids=None):
        return super().content_versions(live_set_id, content_ids and list(content_ids)[:1])


@fault(StoreTests, "test_the_register_of_some_contents_is_all_of_theirs_and_no_others", "S6: for some contents, all of")
class AllInTheRegister(LedgerStore):
    def seen_contents(self, repository, content_ids=None):
        return super().seen_contents(repository, content_ids or None)


@fault(StoreTests, "test_what_contents_reached_is_added_to_and_stays", "S31: what a content reached is only ever added")
class ForgetsWhatWasReachedBefore(LedgerStore):
    def register_reached(self, repository, reached):
        kept = list(reached)
        with self._rows.transaction() as rows:
            for each in kept:
                for part, key, _ in rows.all("reached", repository):
                    if part == each.content_id and key:
                        rows.remove("reached", repository, part, key)
        super().register_reached(repository, kept)


@fault(StoreTests, "test_what_some_contents_reached_is_all_of_theirs_and_no_others", "S31: what many contents reached")
class FirstReached(LedgerStore):
    def reached(self, repository, content_ids=None):
        return super().reached(repository, content_ids and list(content_ids)[:1])


@fault(StoreTests, "test_what_contents_reached_moves_and_joins_what_is_there", "S31: move_records moves what contents")
class MovesWithoutWhatWasReached(LedgerStore):
    def move_records(self, source, target):
        with self._rows.transaction() as rows:
            rows.clear(("reached",), target)
        return super().move_records(source, target)


DIGEST = "test_versions_have_the_digest_of_those_that_were_added"
HAVE_ITS_DIGEST = "S34: the content versions that come back, whole or in parts, have the digest of those that were"


@fault(StoreTests, DIGEST, HAVE_ITS_DIGEST)
class LosesARow(LedgerStore):
    def content_versions(self, live_set_id, content_ids=None):
        versions = super().content_versions(live_set_id, content_ids)
        return versions if content_ids is not None else itertools.islice(versions, 1, None)


@fault(StoreTests, DIGEST, HAVE_ITS_DIGEST)
class DoublesARow(LedgerStore):
    def content_versions(self, live_set_id, content_ids=None):
        versions = iter(super().content_versions(live_set_id, content_ids))
        for first in itertools.islice(versions, 1):
            yield from (first, first)
        yield from versions


@fault(StoreTests, DIGEST, HAVE_ITS_DIGEST)
class ChangesARow(LedgerStore):
    def content_versions(self, live_set_id, content_ids=None):
        for number, found in enumerate(super().content_versions(live_set_id, content_ids)):
            yield found if number else replace(found, commit_time=None)


@fault(StoreTests, "test_digests_come_back_equal", "S34: the digests that end a mark and a sweep come back equal")
class ForgetsDigests(LedgerStore):
    def finish_identify(self, live_set_id, *, versions=None, **more):
        super().finish_identify(live_set_id, **more)


@fault(StoreTests, "test_digests_come_back_equal", "S34: the digests that end a mark and a sweep come back equal")
class SixtyFourBits(LedgerStore):
    def finish_identify(self, live_set_id, *, versions=None, **more):
        small = versions and replace(versions, total=versions.total % 2**64)
        super().finish_identify(live_set_id, versions=small, **more)


@fault(StoreTests, "test_what_was_done_about_dropped_tables_comes_back", "S20: what a sweep did about dropped tables")
class WholeDays(LedgerStore):
    def finish_expire(self, live_set_id, *, at, dropped=None, **more):
        days = dropped and replace(dropped, after=timedelta(days=dropped.after.days))
        super().finish_expire(live_set_id, at=at, dropped=days, **more)


@fault(StoreTests, "test_a_live_set_without_digests_has_none", "S34: a live set without a digest has none")
class NoDigestIsEmpty(LedgerStore):
    def finish_expire(self, live_set_id, *, deletions=None, **more):
        super().finish_expire(live_set_id, deletions=deletions or RowsDigest(), **more)


LEAVE = "test_deletions_that_are_removed_leave_the_digest"
LEAVE_IT = "S34: deferred deletions that are removed leave the digest with them"


@fault(StoreTests, LEAVE, LEAVE_IT)
class DigestStays(LedgerStore):
    def remove_file_deletions(self, live_set_id, deletions):
        before = self.get(live_set_id)
        removed = super().remove_file_deletions(live_set_id, deletions)
        with self._rows.transaction() as rows:
            rows.put("live set", "", "", str(live_set_id), before)
        return removed


@fault(StoreTests, LEAVE, LEAVE_IT)
class SubtractsWhatItIsTold(LedgerStore):
    def remove_file_deletions(self, live_set_id, deletions):
        told = list(deletions)
        before, gone = self.get(live_set_id), RowsDigest.of(each.values for each in told)
        removed = super().remove_file_deletions(live_set_id, told)
        if before.deletions is not None:
            with self._rows.transaction() as rows:
                left = replace(before, deletions=before.deletions - gone)
                rows.put("live set", "", "", str(live_set_id), left)
        return removed


NAMED_ONCE = "test_every_repository_with_live_sets_or_contents_is_named_once"


@fault(StoreTests, NAMED_ONCE, "S20: a repository is named as long as its identity has a live set or an entry")
class RepositoriesOfLiveSets(LedgerStore):
    def repositories(self):
        return iter({live_set.repository for live_set in self.live_sets()})


@fault(StoreTests, "test_tombstones_belong_to_their_repository_and_stay", "S7: tombstones belong to one repository")
class SharedTombstones(LedgerStore):
    def add_tombstones(self, repository, paths, *, at):
        super().add_tombstones("all", paths, at=at)

    def tombstones(self, repository, paths):
        return super().tombstones("all", paths)


@fault(StoreTests, "test_a_content_keeps_its_first_and_moves_its_last_time", "S6: a content at a location keeps its")
class MovesTheFirstTime(LedgerStore):
    def register_contents(self, repository, contents):
        with self._rows.transaction() as rows:
            for each in contents:
                rows.put("seen", repository, each.content_id, each.location, each)


@fault(
    StoreTests,
    "test_records_that_move_join_those_that_are_there",
    "move_records merges: a content that both have keeps the earliest first_seen and the latest last_seen",
)
class OverwritesWhatIsThere(LedgerStore):
    def move_records(self, source, target):
        with self._rows.transaction() as rows:
            rows.clear(("seen",), target)
        return super().move_records(source, target)


@fault(StoreTests, LEASE, "S15: one collector at a time")
class LeasesForAll(LedgerStore):
    def acquire_lease(self, repository, owner, **more):
        holder = self.lease(repository)
        if holder is not None:
            self.release_lease(repository, holder.owner)
        return super().acquire_lease(repository, owner, **more)


@fault(StoreTests, LEASE, "S15: one collector at a time")
class DoesNotNameTheHolder(LedgerStore):
    def acquire_lease(self, repository, owner, **more):
        try:
            return super().acquire_lease(repository, owner, **more)
        except LeaseHeldError as error:
            raise LeaseHeldError("somebody holds it") from error


@fault(
    StoreTests,
    "test_a_lease_that_is_given_back_is_free_at_once",
    "A lease that its owner releases is free at once",
)
class AnybodyGivesItBack(LedgerStore):
    def release_lease(self, repository, owner):
        holder = self.lease(repository)
        super().release_lease(repository, holder.owner if holder is not None else owner)


@fault(
    StoreTests,
    "test_a_lease_that_is_renewed_keeps_its_beginning_and_ends_later",
    "A renewed lease keeps its start time and ends later",
)
class RenewsFromNow(LedgerStore):
    def acquire_lease(self, repository, owner, **more):
        self.release_lease(repository, owner)
        return super().acquire_lease(repository, owner, **more)


@fault(
    StoreTests,
    "test_deferred_deletions_that_are_done_are_forgotten_and_counted",
    "S15: finished deferred deletions are forgotten, and those that existed are counted",
)
class NeverForgets(LedgerStore):
    def remove_file_deletions(self, live_set_id, deletions):
        return len(list(deletions))


@fault(
    StoreTests,
    "test_deferred_deletions_are_kept_once_and_come_ordered_by_location",
    "S15: deferred deletions are kept once",
)
class Unordered(LedgerStore):
    def file_deletions(self, live_set_id):
        yield from sorted(super().file_deletions(live_set_id), key=lambda deletion: deletion.path)


@fault(StoreTests, "test_a_step_that_is_recorded_again_replaces_itself", "S15: a step that is recorded again replaces")
class FirstStepStays(LedgerStore):
    def record_steps(self, live_set_id, steps):
        with self._rows.transaction() as rows:
            for step in steps:
                rows.add("step", str(live_set_id), step.unit, step.part, step)


@fault(StoreTests, "test_many_steps_are_recorded_at_once", "S15: when record_steps returns, every step of a long")
class FirstBatchOfSteps(LedgerStore):
    def record_steps(self, live_set_id, steps):
        super().record_steps(live_set_id, list(steps)[:1000])


@fault(StoreTests, "test_it_behaves_like_a_plain_model_of_itself", "S17: a store does what a plain model of it does")
class ForgetsBaseLocations(LedgerStore):
    def add_base_locations(self, live_set_id, locations):
        return super().add_base_locations(live_set_id, list(locations)[:0])


@fault(StoreTests, "test_the_shared_clock_is_aware_utc_or_not_known", "S8: the clock of the store gives an aware time")
class NaiveClock(LedgerStore):
    def shared_time(self):
        return datetime.now()


class Schemas(LedgerStore):
    """Has the ability, and does not mind anything."""

    def create_schema(self, strategy):
        pass

    def schema_script(self):
        return ""


for _name, _test, _says in (
    ("AnyStrategy", "test_an_unknown_schema_strategy_is_refused", "S27: an unknown strategy is refused with a"),
    ("CreatesTwice", "test_tables_that_exist_are_refused_or_left", "SupportsSqlSchema: CREATE refuses tables"),
    ("NoScript", "test_the_schema_is_shown_as_a_script", "SupportsSqlSchema: the script contains the statements that"),
):
    fault(StoreTests, _test, _says)(type(_name, (Schemas,), {"__module__": __name__}))


class InParts(LedgerStore):
    """Parts by the hash of the content."""

    def content_versions_of_part(self, live_set_id, part, parts):
        versions = self.content_versions(live_set_id)
        return (each for each in versions if self.part_of(each, parts) == part)

    def part_of(self, version, parts):
        return zlib.crc32(repr(version.identity).encode()) % parts


class TestInParts(StoreTests):
    connector = InParts


PARTS = "SupportsVersionParts: S6: parts of any number are disjoint, and together all versions"


@fault(StoreTests, "test_parts_are_disjoint_and_together_everything", PARTS)
class LosesABound(InParts):
    def part_of(self, version, parts):
        return zlib.crc32(repr(version.identity).encode()) % (parts + 1)


@fault(StoreTests, "test_parts_are_disjoint_and_together_everything", PARTS)
class PartsOverlap(InParts):
    def content_versions_of_part(self, live_set_id, part, parts):
        versions = self.content_versions(live_set_id)
        return (each for each in versions if part - self.part_of(each, parts) in (0, 1))


@fault(StoreTests, "test_parts_are_disjoint_and_together_everything", PARTS)
class PartsOfAll(InParts):
    def content_versions_of_part(self, live_set_id, part, parts):
        every = (each.id for each in self.live_sets())
        return (each for id_ in every for each in super(PartsOfAll, self).content_versions_of_part(id_, part, parts))


class JavaTables(LedgerStore):
    """Reads them well, from memory."""

    java_rows: JavaRows

    def java_live_sets(self):
        return iter(self.java_rows.live_sets)

    def java_content_versions(self, live_set_id):
        return iter(self.java_rows.content_versions.get(live_set_id, ()))

    def java_base_locations(self, live_set_id):
        return iter(self.java_rows.base_locations.get(live_set_id, ()))

    def java_file_deletions(self, live_set_id):
        return iter(self.java_rows.file_deletions.get(live_set_id, ()))


class TestJavaTables(StoreTests):
    connector = JavaTables


JAVA = "test_rows_of_the_java_tool_come_back_as_they_are"
AS_THEY_ARE = "SupportsJavaTables: S17: every value comes back as it is in the table"


@fault(StoreTests, JAVA, AS_THEY_ARE)
class NoSnapshotIsZero(JavaTables):
    def java_content_versions(self, live_set_id):
        for row in super().java_content_versions(live_set_id):
            yield replace(row, snapshot_id=row.snapshot_id or 0)


@fault(StoreTests, JAVA, AS_THEY_ARE)
class CutsPaths(JavaTables):
    def java_file_deletions(self, live_set_id):
        for row in super().java_file_deletions(live_set_id):
            yield replace(row, path_uri=row.path_uri[:200])


@fault(StoreTests, JAVA, AS_THEY_ARE)
class InTheZoneOfThisMachine(JavaTables):
    def java_live_sets(self):
        for row in super().java_live_sets():
            yield replace(row, identify_started=row.identify_started.astimezone(UTC))


@fault(StoreTests, "test_an_unknown_live_set_of_the_java_tool_has_no_rows", "SupportsJavaTables: rows of an unknown")
class DeletionsOfAll(JavaTables):
    def java_file_deletions(self, live_set_id):
        return (row for rows in self.java_rows.file_deletions.values() for row in rows)


@fault(StoreTests, "test_records_of_tags_belong_to_their_repository_and_stay", "SupportsTagRecords: records belong to")
class SharedTags(LedgerStore):
    def tags(self, repository):
        for owner in (repository, f"{repository}2"):
            yield from super().tags(owner)


@fault(
    StoreTests,
    "test_a_record_of_a_tag_is_replaced_by_one_with_its_holder_and_name",
    "SupportsTagRecords: a record with the same holder and name is replaced",
)
class FirstTagStays(LedgerStore):
    def put_tags(self, repository, records):
        known = {each.key for each in self.tags(repository)}
        super().put_tags(repository, [each for each in records if each.key not in known])


@fault(
    StoreTests,
    "test_records_of_tags_that_are_forgotten_are_gone_and_no_others",
    "SupportsTagRecords: forgetting records removes them, and no others",
)
class ForgetsOfAnyHolder(LedgerStore):
    def forget_tags(self, repository, keys):
        names = {name for _, name in keys}
        super().forget_tags(repository, [each.key for each in self.tags(repository) if each.name in names])


@fault(
    StoreTests,
    "test_records_of_tags_are_counted_and_move_along",
    "SupportsTagRecords: count_records counts them, and move_records moves them",
)
class TagsStayBehind(LedgerStore):
    def move_records(self, source, target):
        kept = list(self.tags(source))
        moved = super().move_records(source, target)
        self.put_tags(source, kept)
        return moved
