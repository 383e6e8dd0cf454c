"""Snapshots of a plain catalog expire: what only they need goes, and nothing else, whatever happens meanwhile."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from expiry_lakes import ROWS, ExpiryLake, StoppedError, needed, outcomes, overwrite, rewrite, stop
from nessie_gc_memory import MemoryLake, MemoryRepository
from pyiceberg.table import Table
from pyiceberg.types import StringType

from nessie_gc_core.errors import ConfigurationError, LeaseHeldError, LiveSetStateError, RepositoryError
from nessie_gc_core.model import LiveSetStatus, Outcome, Removal, TableMetadata
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.report import ExpiryReport
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.parameters import SweepParameters


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> ExpiryLake:
    return expiry_lake


def deleted(report: ExpiryReport) -> int:
    return report.collection.outcomes[Outcome.DELETED].files


def tag_before_the_commit(lake: ExpiryLake, name: str) -> int:
    """Somebody gives a tag to the second snapshot when the table is looked at for its commit; gives the snapshot."""
    tagged = lake.snapshots()[1]
    taggers = [lambda: lake.load().manage_snapshots().create_tag(tagged, name).commit()]
    inner = lake.repository.reload

    def reload(table: TableMetadata) -> TableMetadata | None:
        if taggers:
            taggers.pop()()
        return inner(table)

    lake.repository.reload = reload  # type: ignore[method-assign]
    return tagged


# ---- what goes, and what stays ------------------------------------------------------------------------
def test_what_goes_is_reported_by_table(lake: ExpiryLake) -> None:
    lake.table()
    lake.table("db.u")
    report = lake.expire(include=["db.t"], by_table=True)
    (row,) = report.collection.tables or []
    assert (("db.t",), report.collection.outcomes[Outcome.DELETED]) == (row.tables, row.outcomes[Outcome.DELETED])
    assert [row.location] == [table.location for table in report.tables]


def test_what_goes_through_a_link_is_reported_by_table_too(lake: ExpiryLake) -> None:
    link = lake.folder / "link"
    link.symlink_to(lake.warehouse)
    table = lake.catalog.create_table("db.linked", ROWS.schema, location=f"file://{link}/db/linked")
    for _ in range(3):
        overwrite(table)
    report = lake.expire(include=["db.linked"], by_table=True)
    deleted = report.collection.outcomes[Outcome.DELETED]
    (row,), (expired,) = report.collection.tables or [], report.tables
    assert (("db.linked",), deleted) == (row.tables, row.outcomes[Outcome.DELETED])
    assert (deleted, row.location) == (expired.files, expired.location)


def test_what_only_expired_snapshots_need_goes_and_the_rest_stays(lake: ExpiryLake) -> None:
    table, other = lake.table(), lake.table("db.u")
    orphan = Path(table.location().removeprefix("file://"), "data", "orphan.parquet")
    orphan.write_bytes(b"nobody names it, and no snapshot did")
    before = lake.files("db/u")

    report = lake.expire(include=["db.t"])

    assert [lake.load().metadata.current_snapshot_id] == lake.snapshots()
    assert lake.needed() | {str(orphan)} == lake.files()
    assert before == lake.files("db/u")
    assert lake.snapshots("db.u") == [each.snapshot_id for each in other.metadata.snapshots]
    assert 2 == lake.load().scan().to_arrow().num_rows
    (expired,) = report.tables
    assert (7, 6, Committed.EXPIRED) == (expired.snapshots, expired.expired, expired.outcome)
    assert deleted(report) == expired.files.files > 0
    assert 0 == report.exit_code


def test_a_dry_run_names_what_the_real_run_deletes_and_leaves_everything(lake: ExpiryLake, tmp_path: Path) -> None:
    lake.table()
    before, listed = lake.files(), lake.snapshots()
    lake.age()

    dry = lake.expire_as_it_is(dry_run=True)
    assert before == lake.files()
    assert listed == lake.snapshots()
    assert [] == list(lake.store.live_sets())
    real = lake.expire_as_it_is()

    would, did = dry.collection.outcomes[Outcome.WOULD_DELETE], real.collection.outcomes[Outcome.DELETED]
    assert (would.files, would.bytes) == (did.files, did.bytes)
    assert would.bytes > 0
    (planned,), (done,) = dry.tables, real.tables
    assert planned == done
    assert len(before - lake.files()) == would.files


def test_tags_and_branches_hold_what_they_reach_until_they_expire(lake: ExpiryLake) -> None:
    table = lake.table()
    ids = lake.snapshots()
    table.manage_snapshots().create_tag(ids[1], "release").create_tag(ids[3], "brief", max_ref_age_ms=1).commit()
    table.manage_snapshots().create_branch(ids[4], "dev", min_snapshots_to_keep=2).commit()
    time.sleep(0.01)

    report = lake.expire()

    (expired,) = report.tables
    assert ("brief",) == tuple(expired.refs)
    assert {ids[1], ids[3], ids[4], ids[-1]} == set(lake.snapshots())
    assert {"main", "release", "dev"} == set(lake.load().metadata.refs)
    assert lake.needed() == lake.files()


def test_a_dry_run_counts_what_an_expiring_tag_holds(lake: ExpiryLake) -> None:
    table = lake.table()
    table.manage_snapshots().create_tag(lake.snapshots()[0], "brief", max_ref_age_ms=1).commit()
    time.sleep(0.01)
    lake.age()

    dry, real = lake.expire_as_it_is(dry_run=True), lake.expire_as_it_is()

    assert dry.collection.outcomes[Outcome.WOULD_DELETE].files == deleted(real)
    assert lake.needed() == lake.files()


def test_a_table_without_a_current_snapshot_but_with_a_branch(lake: ExpiryLake) -> None:
    table = lake.table()
    head = lake.snapshots()[-1]
    table.manage_snapshots().create_branch(head, "dev").commit()
    rewrite(lake.load(), lambda metadata: [metadata.update({"current-snapshot-id": -1}), metadata["refs"].pop("main")])
    assert lake.load().current_snapshot() is None
    lake.age()

    dry, report = lake.expire_as_it_is(dry_run=True), lake.expire_as_it_is()

    assert [head] == lake.snapshots()
    assert lake.needed() == lake.files()
    assert deleted(report) == dry.collection.outcomes[Outcome.WOULD_DELETE].files > 0


def test_metadata_files_that_fall_out_of_the_log_go(lake: ExpiryLake) -> None:
    lake.table(write__metadata__previous_versions_max="2")
    lake.age()

    dry, report = lake.expire_as_it_is(dry_run=True), lake.expire_as_it_is()

    assert 2 == len(lake.load().metadata.metadata_log)
    assert deleted(report) == dry.collection.outcomes[Outcome.WOULD_DELETE].files
    trimmed = {file for file in lake.files() - lake.needed() if file.endswith("metadata.json")}
    assert len(trimmed) == len(lake.files() - lake.needed())  # those that fell out before are orphans, for 'gc'


def test_a_file_that_another_table_names_stays(lake: ExpiryLake) -> None:
    table, other = lake.table(overwrites=1), lake.table("db.u", overwrites=0)
    shared = next(file.file.file_path for file in table.scan().plan_files())
    other.add_files([shared])
    overwrite(lake.load())

    lake.expire()

    assert Path(shared.removeprefix("file://")).is_file()
    assert 2 == lake.load("db.u").scan().to_arrow().num_rows
    assert lake.needed() | needed(lake.load("db.u")) == lake.files("db")


def test_tables_in_each_others_locations_keep_their_files(lake: ExpiryLake) -> None:
    outer = lake.table()
    inner = lake.catalog.create_table("db.inner", ROWS.schema, location=f"{outer.location()}/data/inner")
    for _ in range(3):
        overwrite(inner)

    lake.expire(include=["db.t"])

    assert lake.needed() | needed(lake.load("db.inner")) <= lake.files()
    assert 5 == len(lake.snapshots("db.inner"))


def test_files_at_a_place_beside_the_location_go_where_it_is_allowed(lake: ExpiryLake) -> None:
    lake.table(write__data__path=f"file://{lake.warehouse}/shared/data")
    shared = lake.files("shared")
    assert 4 == len(shared)

    first = lake.expire(retain_last=3)
    assert shared == lake.files("shared")
    second = lake.expire(allow=[f"file://{lake.warehouse}"])

    assert any("outside the swept locations" in each for each in first.collection.warnings)
    assert lake.needed() & lake.files("shared") <= lake.files("shared") < shared
    assert {"db.t": Committed.EXPIRED} == outcomes(second)


def test_files_that_are_too_young_wait_for_a_collection(lake: ExpiryLake) -> None:
    lake.table()
    before = lake.files()

    report = lake.expire_as_it_is()

    assert 1 == len(lake.snapshots())
    assert before <= lake.files()
    assert 0 == deleted(report)
    assert report.collection.outcomes[Outcome.TOO_YOUNG].files > 0


# ---- schemas and partition specs ----------------------------------------------------------------------
def evolved(lake: ExpiryLake) -> Table:
    """A table with four schemas and three specs; of each the first is that of old files only."""
    table = lake.table(overwrites=1)
    with table.update_schema() as update:
        update.add_column("name", StringType())
    with table.update_spec() as spec:
        spec.add_identity("id")
    table.overwrite(table.scan().to_arrow())
    with table.update_spec() as spec:
        spec.remove_field("id").add_identity("name")
    for column in ("more", "most"):
        with table.update_schema() as update:
            update.add_column(column, StringType())
    table.overwrite(table.scan().to_arrow())
    return lake.load()


def test_schemas_and_specs_that_nothing_names_go_on_request(lake: ExpiryLake) -> None:
    before = evolved(lake).metadata
    rows = lake.load().scan().to_arrow().num_rows
    assert (4, 3) == (len(before.schemas), len(before.partition_specs))

    dry = lake.expire(clean_expired_metadata=True, dry_run=True)
    report = lake.expire(clean_expired_metadata=True)

    after = lake.load().metadata
    (table,), (planned,) = report.tables, dry.tables
    assert table == planned
    assert {each.schema_id for each in before.schemas} - {*table.schemas} == {each.schema_id for each in after.schemas}
    assert table.schemas
    assert after.default_spec_id in {each.spec_id for each in after.partition_specs}
    assert 3 > len(after.partition_specs)
    assert max(each.schema_id for each in before.schemas) == max(each.schema_id for each in after.schemas)
    assert max(each.spec_id for each in before.partition_specs) == max(each.spec_id for each in after.partition_specs)
    assert rows == lake.load().scan().to_arrow().num_rows
    assert lake.needed() == lake.files()


def test_schemas_and_specs_stay_where_it_is_not_asked_for_or_they_are_named(lake: ExpiryLake) -> None:
    before = evolved(lake).metadata

    lake.expire(clean_expired_metadata=True, retain_last=100)
    named = lake.load().metadata
    lake.expire()

    assert {0, 1} <= {each.spec_id for each in named.partition_specs}
    assert 0 in {each.schema_id for each in named.schemas}
    assert named.schemas == lake.load().metadata.schemas
    assert named.partition_specs == lake.load().metadata.partition_specs
    assert before.current_schema_id == named.current_schema_id


def test_schemas_and_specs_stay_where_a_manifest_cannot_be_read(lake: ExpiryLake) -> None:
    table = evolved(lake)
    snapshot = table.metadata.snapshots[-1]
    manifest = Path(snapshot.manifests(table.io)[0].manifest_path.removeprefix("file://"))
    kept = manifest.read_bytes()
    manifest.write_bytes(b"no Avro")

    report = lake.expire(clean_expired_metadata=True)
    manifest.write_bytes(kept)

    assert {"db.t": Committed.LEFT_ALONE} == outcomes(report)
    assert table.metadata.schemas == lake.load().metadata.schemas


def test_a_catalog_that_refuses_to_take_out_schemas_expires_snapshots_all_the_same(lake: ExpiryLake) -> None:
    before = evolved(lake).metadata

    def refuse(table: TableMetadata, removal: Removal) -> None:
        if removal.schemas:
            raise RepositoryError("no such update")

    lake.repository.before_commit = refuse
    report = lake.expire(clean_expired_metadata=True)

    (table,) = report.tables
    assert (Committed.EXPIRED, "schemas and partition specs stay: no such update") == (table.outcome, table.reason)
    assert 1 == len(lake.snapshots())
    assert before.schemas == lake.load().metadata.schemas


# ---- which tables -------------------------------------------------------------------------------------
def test_tables_are_chosen_by_patterns_and_have_rules_of_their_own(lake: ExpiryLake) -> None:
    for name in ("db.orders", "db.orders_2025", "db.audit"):
        lake.table(name, overwrites=3)

    lake.expire(include=["db[.]o.*"], exclude=[".*_2025"], retention=["db.ord.*=retain-last 2"])

    assert [2, 5, 5] == [len(lake.snapshots(name)) for name in ("db.orders", "db.orders_2025", "db.audit")]


def test_a_table_that_somebody_else_may_need_is_left_alone(lake: ExpiryLake) -> None:
    lake.table(gc__enabled="false")

    report = lake.expire()

    assert {"db.t": Committed.LEFT_ALONE} == outcomes(report)
    assert 7 == len(lake.snapshots())


def test_a_table_at_a_location_that_is_not_allowed_is_left_alone(lake: ExpiryLake) -> None:
    lake.table()

    report = lake.expire(allow=[f"file://{lake.warehouse}/elsewhere"])

    assert {"db.t": Committed.LEFT_ALONE} == outcomes(report)
    assert 7 == len(lake.snapshots())


def test_where_more_would_go_than_is_allowed_nothing_is_committed(lake: ExpiryLake) -> None:
    lake.table()
    before = lake.files()

    report = lake.expire(max_deletes=3)

    assert {"db.t": Committed.LEFT_ALONE} == outcomes(report)
    assert 7 == len(lake.snapshots())
    assert before == lake.files()


def test_a_snapshot_is_asked_for_by_its_id(lake: ExpiryLake) -> None:
    lake.table()
    asked = lake.snapshots()[2]

    report = lake.expire(older_than=None, snapshot_ids=[str(asked), "77"])

    assert asked not in lake.snapshots()
    assert 6 == len(lake.snapshots())
    assert lake.needed() == lake.files()
    assert "no selected table has a snapshot 77" in report.collection.warnings


# ---- what cannot be read ------------------------------------------------------------------------------
def test_a_manifest_list_that_is_gone_from_an_expired_snapshot_only_leaves_more_behind(lake: ExpiryLake) -> None:
    table = lake.table()
    Path(table.metadata.snapshots[0].manifest_list.removeprefix("file://")).unlink()

    report = lake.expire()

    assert 1 == len(lake.snapshots())
    assert lake.needed() <= lake.files()
    assert any("were not deleted" in warning for warning in report.collection.warnings)


def test_a_manifest_list_that_is_gone_from_a_snapshot_that_stays_leaves_the_table_alone(lake: ExpiryLake) -> None:
    table = lake.table()
    lake.table("db.u")
    Path(table.metadata.snapshots[-1].manifest_list.removeprefix("file://")).unlink()
    before = lake.files()
    lake.services().read_before()

    report = lake.expire()

    assert {"db.t": Committed.LEFT_ALONE, "db.u": Committed.EXPIRED} == outcomes(report)
    assert before == lake.files()
    assert 7 == len(lake.snapshots())
    assert 1 == len(lake.snapshots("db.u"))
    assert 1 == report.exit_code


# ---- what happens meanwhile ---------------------------------------------------------------------------
def test_a_writer_that_was_faster_is_not_overwritten(lake: ExpiryLake) -> None:
    lake.table()
    writers = [overwrite]

    def write(table: TableMetadata, removal: Removal) -> None:
        if writers:
            writers.pop()(lake.load())

    lake.repository.before_commit = write
    report = lake.expire()

    assert {"db.t": Committed.EXPIRED} == outcomes(report)
    assert 3 == len(lake.snapshots())  # what was current, and the two of the writer
    assert lake.needed() <= lake.files()


def test_a_snapshot_that_got_a_tag_meanwhile_stays(lake: ExpiryLake) -> None:
    lake.table()
    tagged = tag_before_the_commit(lake, "just-in-time")
    report = lake.expire()

    assert {"db.t": Committed.EXPIRED} == outcomes(report)
    assert tagged in lake.snapshots()
    assert lake.needed() <= lake.files()


def test_where_others_are_always_faster_nothing_is_deleted(lake: ExpiryLake) -> None:
    lake.table()
    before = lake.files()
    lake.repository.before_commit = lambda table, removal: overwrite(lake.load())

    report = lake.expire(commit_retries=1)

    assert {"db.t": Committed.CONFLICT} == outcomes(report)
    assert before <= lake.files()
    assert 1 == report.exit_code


def test_a_table_that_is_dropped_meanwhile_stops_no_other(lake: ExpiryLake) -> None:
    lake.table()
    lake.table("db.u")
    before = lake.files()

    def drop(table: TableMetadata, removal: Removal) -> None:
        if table.content_key == "db.t" and lake.catalog.table_exists("db.t"):
            lake.catalog.drop_table("db.t")

    lake.repository.before_commit = drop
    report = lake.expire()

    assert {"db.t": Committed.CONFLICT, "db.u": Committed.EXPIRED} == outcomes(report)
    assert 1 == len(lake.snapshots("db.u"))
    assert before <= lake.files()


def test_s20_a_table_that_is_dropped_meanwhile_keeps_its_files_wherever_they_are(lake: ExpiryLake) -> None:
    shared = f"file://{lake.warehouse}/shared/data"
    lake.table(write__data__path=shared)
    lake.table("db.u", write__data__path=shared)
    location = lake.load().metadata_location
    before = lake.files("shared") | lake.files()

    def drop(table: TableMetadata, removal: Removal) -> None:
        if lake.catalog.table_exists("db.t"):
            lake.catalog.drop_table("db.t")

    lake.repository.before_commit = drop
    report = lake.expire(include=["db.t"], allow=[f"file://{lake.warehouse}"])

    assert {"db.t": Committed.CONFLICT} == outcomes(report)
    assert before == lake.files("shared") | lake.files()
    restored = lake.catalog.register_table("db.t", location)
    assert [2] * 4 == [
        restored.scan(snapshot_id=each.snapshot_id).to_arrow().num_rows
        for each in restored.metadata.snapshots
        if each.summary is not None and each.summary.additional_properties["total-records"] != "0"
    ]


def test_a_tag_that_came_meanwhile_stays_however_old_its_snapshot_is(lake: ExpiryLake) -> None:
    lake.table()
    tagged = tag_before_the_commit(lake, "audit")
    time.sleep(0.01)
    lake.expire(max_ref_age=timedelta(0))

    assert tagged in lake.snapshots()
    assert "audit" in lake.load().metadata.refs
    assert lake.needed() <= lake.files()


def test_somebody_who_collects_at_the_same_time_keeps_it_from_committing(lake: ExpiryLake) -> None:
    lake.table()
    identity = lake.repository.identity()
    lake.store.acquire_lease(identity, "somebody", host="there", process=1, duration=timedelta(minutes=5))
    with pytest.raises(LeaseHeldError):
        lake.expire()
    assert 7 == len(lake.snapshots())


# ---- runs that are stopped ----------------------------------------------------------------------------
def test_a_run_that_is_stopped_after_its_commit_leaks_nothing(lake: ExpiryLake) -> None:
    lake.table()
    orphan = lake.warehouse / "db/t/data/orphan.parquet"
    orphan.write_bytes(b"no snapshot had it")
    lake.repository.after_commit = stop
    with pytest.raises(StoppedError):
        lake.expire()
    assert 1 == len(lake.snapshots())
    assert lake.files() > lake.needed() | {str(orphan)}
    del lake.repository.after_commit

    report = lake.expire()

    assert lake.needed() | {str(orphan)} == lake.files()
    assert deleted(report) > 0
    assert [] == [each for live_set in lake.store.live_sets() for each in lake.store.file_deletions(live_set.id)]


def test_a_run_that_is_stopped_before_its_commit_deletes_nothing_later_either(lake: ExpiryLake) -> None:
    lake.table()
    before = lake.files()
    lake.repository.before_commit = stop
    with pytest.raises(StoppedError):
        lake.expire()
    del lake.repository.before_commit

    lake.expire(older_than="P1D")

    assert before == lake.files()
    assert 7 == len(lake.snapshots())
    (live_set,) = [each for each in lake.store.live_sets() if each.status is LiveSetStatus.EXPIRY_FAILED]
    assert [] == list(lake.store.file_deletions(live_set.id))


def test_what_a_stopped_run_left_in_a_table_that_is_not_read_now_stays_recorded(lake: ExpiryLake) -> None:
    table = lake.table()
    lake.repository.after_commit = stop
    with pytest.raises(StoppedError):
        lake.expire()
    del lake.repository.after_commit
    manifests = Path(lake.load().current_snapshot().manifest_list.removeprefix("file://"))  # type: ignore[union-attr]
    kept = manifests.read_bytes()
    manifests.unlink()
    left = lake.files()

    lake.expire()
    assert left == lake.files()
    manifests.write_bytes(kept)
    lake.expire()

    assert lake.needed() == lake.files()
    assert table.location()


# ---- words --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"older_than": "yesterday"}, "`older_than` 'yesterday' is neither a duration"),
        ({"snapshot_ids": ["x"]}, "`snapshot_ids` 'x' is not a number"),
        ({"retention": ["db.*=forever"]}, "`retention` 'db.*=forever' is not of the form"),
        ({"retention": ["db.*=max-ref-age -P1D"]}, "max-ref-age '-P1D' is negative"),
        ({"retention": ["db.*=retain-last 0"]}, "retain-last '0' must be a number of at least 1"),
        ({"retain_last": 0}, "retain_last"),
        ({"include": ["db("]}, "is not a valid regular expression"),
        ({"min_age": 0}, "min_age"),
    ],
)
def test_a_word_that_makes_no_sense_is_refused(lake: ExpiryLake, parameters: dict[str, object], said: str) -> None:
    lake.table()
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        lake.expire(**ExpireSnapshotsParameters.typed(parameters))  # type: ignore[arg-type]
    assert 7 == len(lake.snapshots())


def test_a_repository_that_cannot_expire_says_so(lake: ExpiryLake) -> None:
    run = lake.services()
    memory = MemoryRepository.from_options({"lake": MemoryLake.named("none").name})
    with pytest.raises(ConfigurationError, match="'memory' cannot expire snapshots"):
        ExpireSnapshotsService(ExpireSnapshotsParameters()).run(replace(run, repository=memory).run())


# ---- beside other services ----------------------------------------------------------------------------
def test_what_a_collection_deferred_is_not_deleted(lake: ExpiryLake) -> None:
    table = lake.table()
    lake.table("db.u")
    orphan = Path(table.location().removeprefix("file://"), "data", "orphan.parquet")
    orphan.write_bytes(b"somebody wants to look at it")
    lake.age()
    live_set = lake.services().mark()
    lake.services().sweep(live_set, SweepParameters(defer_deletes=True))
    lake.store.start_identify(other := uuid4(), repository=lake.repository.identity(), created=utc_now())
    lake.store.finish_identify(other, at=utc_now(), references_listed=utc_now())
    lake.store.start_expire(other, at=utc_now())
    lake.store.add_file_deletions(other, lake.store.file_deletions(live_set))

    lake.expire(include=["db.u"])

    assert orphan.exists()


def test_a_live_set_of_an_expiry_is_no_other_services(lake: ExpiryLake) -> None:
    lake.table()
    lake.repository.after_commit = stop
    with pytest.raises(StoppedError):
        lake.expire()
    (live_set,) = lake.store.live_sets()

    with pytest.raises(LiveSetStateError, match="run `expire_snapshots` again"):
        lake.services().sweep(live_set.id, SweepParameters(resume=True))
    lake.store.start_expire(live_set.id, at=utc_now(), resume=True)
    lake.store.finish_expire(live_set.id, at=utc_now())
    with pytest.raises(LiveSetStateError, match="the next `expire_snapshots` finishes its work"):
        lake.services().delete_deferred(live_set.id)


def test_s21_caps_say_the_same_in_a_dry_run(lake: ExpiryLake) -> None:
    lake.table()
    lake.age()

    dry, real = lake.expire_as_it_is(max_deletes=3, dry_run=True), lake.expire_as_it_is(max_deletes=3)

    assert dry.tables == real.tables
    assert {"db.t": Committed.LEFT_ALONE} == outcomes(dry)


def test_s21_two_names_of_one_metadata_file_have_rules_of_their_own(lake: ExpiryLake) -> None:
    lake.table()
    lake.catalog.register_table("db.same", lake.load().metadata_location)
    lake.age()
    words = {"retention": ["db[.]same=retain-last 3"]}

    dry, real = lake.expire_as_it_is(**words, dry_run=True), lake.expire_as_it_is(**words)

    assert dry.collection.outcomes[Outcome.WOULD_DELETE].files == deleted(real)
    assert lake.needed() | lake.needed("db.same") <= lake.files()


def test_s27_patterns_that_match_no_table_are_named(lake: ExpiryLake) -> None:
    lake.table()

    retention = ["db.typpo=retain-last 9"]  # codespell:ignore typpo
    report = lake.expire(exclude=["db.typo"], retention=retention, dry_run=True)

    assert {"the pattern 'db.typo' matches no table", "the pattern 'db.typpo' matches no table"} <= set(
        report.collection.warnings
    )


def test_metadata_that_contradicts_itself_is_left_alone_with_the_reason(lake: ExpiryLake) -> None:
    table = lake.table()
    other = lake.snapshots()[2]
    rewrite(table, lambda metadata: metadata["refs"]["main"].update({"snapshot-id": other}))
    before = lake.files()

    report = lake.expire()

    (left,) = report.tables
    assert (Committed.LEFT_ALONE, before) == (left.outcome, lake.files())
    assert "but main is at" in str(left.reason)


# ---- what dry run and real run say --------------------------------------------------------------------
def expired_in_both_runs(
    lake: ExpiryLake, **parameters: object
) -> Sequence[tuple[str, Committed, int, tuple[str, ...], int]]:
    """What a dry run and the real run after it say of each table; asserts that they say the same."""
    dry, real = (lake.expire(dry_run=dry_run, **parameters) for dry_run in (True, False))
    said = [
        [(each.table, each.outcome, each.expired, tuple(each.refs), each.files.files) for each in report.tables]
        for report in (dry, real)
    ]
    assert said[0] == said[1]
    assert dry.kept_for_positions == real.kept_for_positions
    assert dry.exit_code == real.exit_code
    return said[1]


def test_s21_a_tag_whose_snapshot_is_not_listed_goes_as_the_dry_run_says(lake: ExpiryLake) -> None:
    rewrite(lake.table(), lambda metadata: metadata["refs"].update(old={"snapshot-id": 42, "type": "tag"}))

    ((_, outcome, _, refs, files),) = expired_in_both_runs(lake)

    assert (Committed.EXPIRED, ("old",), ["main"]) == (outcome, refs, list(lake.load().metadata.refs))
    assert files
    assert lake.needed() == lake.files()


def test_s21_refs_that_pyiceberg_cannot_remove_are_promised_by_no_run(lake: ExpiryLake) -> None:
    table = lake.table(overwrites=0)
    rewrite(table, lambda metadata: metadata.update(refs={"old": {"snapshot-id": 42, "type": "tag"}}))
    ((_, outcome, _, refs, _),) = expired_in_both_runs(lake)
    assert (Committed.LEFT_ALONE, (), ["old"]) == (outcome, refs, list(lake.load().metadata.refs))


def test_s21_a_table_that_pyiceberg_cannot_load_is_promised_by_no_run(lake: ExpiryLake) -> None:
    rewrite(lake.table(), lambda metadata: metadata.pop("last-column-id"))
    before = lake.files()

    ((_, outcome, _, _, _),) = expired_in_both_runs(lake)
    (table,) = lake.expire(dry_run=True).tables

    assert (Committed.LEFT_ALONE, before) == (outcome, lake.files())
    assert "PyIceberg cannot load it, as it does before each commit" in str(table.reason)
    assert "last-column-id" in str(table.reason)


MARKS = {
    "flink": {"flink.job-id": "j", "flink.operator-id": "o", "flink.max-committed-checkpoint-id": "7"},
    "connect": {"kafka.connect.offsets.control.sink": '{"0":42}'},
    "spark": {"spark.sql.streaming.queryId": "q", "spark.sql.streaming.epochId": "9"},
}


@pytest.mark.parametrize("writer", MARKS)
def test_positions_of_streaming_writers_stay_until_they_are_given_up(lake: ExpiryLake, writer: str) -> None:
    table = lake.table(overwrites=1)
    table.append(ROWS, snapshot_properties=MARKS[writer])
    marked = lake.snapshots()[-1]
    table.append(ROWS)
    table.append(ROWS)
    listed = lake.snapshots()

    ((_, outcome, expired, _, _),) = expired_in_both_runs(lake)
    assert (Committed.EXPIRED, 1, listed[1:]) == (outcome, expired, lake.snapshots())

    report = lake.expire()
    assert {"db.t": 2} == report.kept_for_positions
    assert "kept for streaming writers: 2 snapshots of 1 table (db.t); `--max-position-age`" in str(report)

    expired_in_both_runs(lake, max_position_age=timedelta(0))
    assert marked not in lake.snapshots()
    assert [lake.load().metadata.current_snapshot_id] == lake.snapshots()


def test_tables_have_rules_of_their_own_for_positions(lake: ExpiryLake) -> None:
    for name in ("db.t", "db.u"):
        table = lake.table(name, overwrites=0)
        table.append(ROWS, snapshot_properties=MARKS["flink"])
        table.append(ROWS)
    lake.expire(retention=["db[.]u=max-position-age PT0S"])
    assert [2, 1] == [len(lake.snapshots(name)) for name in ("db.t", "db.u")]
