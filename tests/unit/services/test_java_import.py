"""What becomes of the live sets of Nessie's Java tool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository, put

from nessie_gc_core.errors import ConfigurationError, LeaseHeldError, SafetyError
from nessie_gc_core.model.java_tables import JavaBaseLocation, JavaContentVersion, JavaFileDeletion, JavaLiveSet
from nessie_gc_core.model.live_sets import FileDeletion, LiveSet, LiveSetStatus
from nessie_gc_core.model.repository import ContentVersion, LogEntry, Reference
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.autotag.collected import sweeps_of, swept_by
from nessie_gc_core.services.autotag.states import State
from nessie_gc_core.services.java_import.parameters import ImportJavaParameters
from nessie_gc_core.services.java_import.report import ImportedLiveSet, ImportJavaReport
from nessie_gc_core.services.java_import.service import ImportJavaService
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.testing.live_set_java import JavaRows

ID = "4f2f2ea6-63c4-4a5a-9d0f-52f6a3a8b5c1"
STARTED = datetime(2026, 7, 1, 12, 0, 0)  # in Berlin, two hours before UTC
CREATED = datetime(2026, 7, 1, 10, 0, 0, tzinfo=UTC)
OLD = 1_000 * int((CREATED - timedelta(days=2)).timestamp())
MARKED = JavaLiveSet(
    live_set_id=ID,
    status="IDENTIFY_SUCCESS",
    identify_started=STARTED,
    identify_finished=STARTED + timedelta(minutes=1),
    expire_started=None,
    expire_finished=None,
    error_message=None,
)
SWEPT = replace(
    MARKED,
    status="EXPIRY_SUCCESS",
    expire_started=STARTED + timedelta(hours=1),
    expire_finished=STARTED + timedelta(hours=2),
)
CONTENT = JavaContentVersion(
    content_id="c",
    commit_id="aa",
    content_key="db.été",
    content_type="ICEBERG_TABLE",
    metadata_location="s3://b/db/t/metadata/é 1.metadata.json",
    snapshot_id=7,
)
VERSION = ContentVersion(
    content_id="c",
    content_type="ICEBERG_TABLE",
    metadata_location="s3://b/db/t/metadata/é 1.metadata.json",
    snapshot_id=7,
    content_key="db.été",
    commit_id="aa",
)
LOCATION = JavaBaseLocation(content_id="c", base_location="s3://b/db/t/")
DELETION = JavaFileDeletion(base_uri="s3://b/db/t/", path_uri="data/é %41.parquet", modification_timestamp=OLD)


class JavaStore(MemoryLiveSetStore):
    """A store beside which there are tables of the Java tool."""

    rows: JavaRows

    def java_live_sets(self) -> Iterator[JavaLiveSet]:
        return iter(self.rows.live_sets)

    def java_content_versions(self, live_set_id: str) -> Iterator[JavaContentVersion]:
        return iter(self.rows.content_versions.get(live_set_id, ()))

    def java_base_locations(self, live_set_id: str) -> Iterator[JavaBaseLocation]:
        return iter(self.rows.base_locations.get(live_set_id, ()))

    def java_file_deletions(self, live_set_id: str) -> Iterator[JavaFileDeletion]:
        return iter(self.rows.file_deletions.get(live_set_id, ()))


class KnownRepository(MemoryRepository):
    """It has the commit of the rows as well."""

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        if reference.commit_id == CONTENT.commit_id:
            yield LogEntry(commit_id="aa", parent_id=None, commit_time=CREATED, operations=())
        else:
            yield from super().commit_log(reference)


class Importing:
    """Imports rows of one live set, or of several, into a store."""

    def __init__(self, services: LakeServices, lake: MemoryLake) -> None:
        self.store = JavaStore.from_options({})
        repository = KnownRepository.from_options({"lake": lake.name})
        self.services = replace(services, store=self.store, repository=repository)

    def rows(
        self,
        *live_sets: JavaLiveSet,
        contents: list[JavaContentVersion] | None = None,
        locations: list[JavaBaseLocation] | None = None,
        deletions: list[JavaFileDeletion] | None = None,
    ) -> None:
        self.store.rows = JavaRows(
            live_sets=live_sets,
            content_versions={ID: [CONTENT] if contents is None else contents},
            base_locations={ID: [LOCATION] if locations is None else locations},
            file_deletions={ID: [DELETION] if deletions is None else deletions},
        )

    def run(self, **parameters: Any) -> ImportJavaReport:
        given = ImportJavaParameters(**{"java_time_zone": "Europe/Berlin", **parameters})
        return ImportJavaService(given).run(self.services.run())

    def one(self, **parameters: Any) -> ImportedLiveSet:
        (found,) = self.run(**parameters).live_sets
        return found

    def stored(self) -> LiveSet:
        return self.store.get(UUID(ID))


@pytest.fixture
def importing(services: LakeServices, lake: MemoryLake) -> Importing:
    return Importing(services, lake)


def test_a_complete_live_set_is_imported_with_all_its_values(importing: Importing) -> None:
    importing.rows(MARKED)
    assert (LiveSetStatus.IDENTIFY_SUCCESS, True, 1, 1, 0) == _result(importing.one())
    stored = importing.stored()
    assert (CREATED, CREATED + timedelta(minutes=1)) == (stored.created, stored.identify_completed)
    assert importing.services.repository.identity() == stored.repository
    assert [VERSION] == list(importing.store.content_versions(stored.id))
    assert [("c", "s3://b/db/t/")] == list(importing.store.base_locations(stored.id))


def _result(found: ImportedLiveSet) -> tuple[Any, ...]:
    return found.status, found.new, found.content_versions, found.base_locations, found.file_deletions


def test_a_swept_live_set_is_imported_with_its_deferred_deletions(importing: Importing) -> None:
    importing.rows(SWEPT)
    assert (LiveSetStatus.EXPIRY_SUCCESS, True, 1, 1, 1) == _result(importing.one())
    stored = importing.stored()
    hour = timedelta(hours=1)
    assert (CREATED + hour, CREATED + 2 * hour) == (stored.expiry_started, stored.expiry_completed)
    modified = CREATED - timedelta(days=2)
    expected = FileDeletion(location="s3://b/db/t/", path="data/é %41.parquet", size=None, modified=modified)
    assert [expected] == list(importing.store.file_deletions(stored.id))


def test_a_dry_run_says_the_same_and_changes_nothing(importing: Importing) -> None:
    importing.rows(SWEPT, deletions=[DELETION, replace(DELETION, path_uri="x", modification_timestamp=-1)])
    looked = importing.run(dry_run=True)
    assert [] == list(importing.store.live_sets())
    assert looked.live_sets == importing.run().live_sets


def test_a_second_import_adds_nothing(importing: Importing) -> None:
    importing.rows(SWEPT)
    importing.one()
    before = importing.stored()
    assert (LiveSetStatus.EXPIRY_SUCCESS, False, 0, 0, 0) == _result(importing.one())
    assert before == importing.stored()


@pytest.mark.parametrize("step", ["finish_identify", "start_expire", "add_file_deletions", "finish_expire"])
def test_an_import_that_was_killed_is_finished_by_the_next(
    importing: Importing, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    importing.rows(SWEPT)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(JavaStore, step, die)
        importing.one()
    assert (LiveSetStatus.EXPIRY_SUCCESS, True) == _result(importing.one())[:2]
    assert 1 == len(list(importing.store.file_deletions(UUID(ID))))
    assert [VERSION] == list(importing.store.content_versions(UUID(ID)))


@pytest.mark.parametrize("status", ["IDENTIFY_FAILED", "EXPIRY_IN_PROGRESS", "EXPIRY_FAILED"])
def test_s18_a_live_set_that_the_java_tool_did_not_complete_cannot_be_swept(importing: Importing, status: str) -> None:
    importing.rows(replace(SWEPT, status=status, error_message="java.io.IOException: é"))
    found = importing.one()
    assert LiveSetStatus.IDENTIFY_FAILED is found.status is importing.stored().status
    assert f"the Java tool left it in {status}: java.io.IOException: é" == importing.stored().error_message
    assert [] == list(importing.store.file_deletions(UUID(ID)))


def test_s18_a_complete_live_set_with_an_error_cannot_be_swept(importing: Importing) -> None:
    importing.rows(replace(MARKED, error_message="odd"))
    assert LiveSetStatus.IDENTIFY_FAILED is importing.one().status


@pytest.mark.parametrize(
    ("live_set", "why"),
    [
        (replace(MARKED, status="IDENTIFY_IN_PROGRESS"), "under way, or was killed"),
        (replace(MARKED, identify_started=None), "the start of its mark is unknown"),
        (replace(MARKED, status="SOMETHING"), "its id or its status is unknown"),
        (replace(MARKED, status=None), "its id or its status is unknown"),
        (replace(MARKED, live_set_id="x"), "its id or its status is unknown"),
    ],
)
def test_s10_a_live_set_of_unknown_age_or_state_is_left_out(
    importing: Importing, live_set: JavaLiveSet, why: str
) -> None:
    importing.rows(live_set)
    found = importing.one()
    assert (None, False) == (found.status, found.new)
    assert why in (found.reason or "")
    assert [] == list(importing.store.live_sets())


@pytest.mark.parametrize(
    "content",
    [
        replace(CONTENT, content_id=None),
        replace(CONTENT, content_type=None),
        replace(CONTENT, metadata_location=None),
        replace(CONTENT, content_key=None),
        replace(CONTENT, metadata_location="s3://b/".ljust(1000, "m")),
        replace(CONTENT, metadata_location="s3://b/t/metadata/?.metadata.json"),
        replace(CONTENT, content_id="c" * 200),
    ],
)
def test_s17_one_content_that_may_be_cut_or_lacks_a_value_makes_its_live_set_fail(
    importing: Importing, content: JavaContentVersion
) -> None:
    importing.rows(SWEPT, contents=[CONTENT, content])
    found = importing.one()
    assert LiveSetStatus.IDENTIFY_FAILED is found.status is importing.stored().status
    assert found.reason
    assert [] == list(importing.store.file_deletions(UUID(ID)))


@pytest.mark.parametrize("location", [None, "s3://b/".ljust(500, "x"), "s3://b/?/"])
def test_s17_so_does_one_base_location(importing: Importing, location: str | None) -> None:
    importing.rows(MARKED, locations=[LOCATION, JavaBaseLocation(content_id="c", base_location=location)])
    assert LiveSetStatus.IDENTIFY_FAILED is importing.one().status


def test_text_that_is_longer_than_its_column_was_not_cut(importing: Importing) -> None:
    long = replace(CONTENT, metadata_location="s3://b/".ljust(3000, "m"))
    importing.rows(MARKED, contents=[long])
    assert LiveSetStatus.IDENTIFY_SUCCESS is importing.one().status
    assert [long.metadata_location] == [each.metadata_location for each in importing.store.content_versions(UUID(ID))]


def test_s23_contents_of_other_types_are_kept_as_they_are(importing: Importing) -> None:
    other = replace(CONTENT, content_type="DELTA_LAKE_TABLE", metadata_location=None, snapshot_id=None)
    importing.rows(MARKED, contents=[other])
    assert LiveSetStatus.IDENTIFY_SUCCESS is importing.one().status
    (stored,) = importing.store.content_versions(UUID(ID))
    assert ("DELTA_LAKE_TABLE", None, None) == (stored.content_type, stored.metadata_location, stored.snapshot_id)


def test_s25_a_version_without_a_snapshot_has_none_here_either(importing: Importing) -> None:
    importing.rows(MARKED, contents=[replace(CONTENT, snapshot_id=None), replace(CONTENT, snapshot_id=-1)])
    importing.one()
    assert {None, -1} == {each.snapshot_id for each in importing.store.content_versions(UUID(ID))}


@pytest.mark.parametrize(
    "deletion",
    [
        replace(DELETION, modification_timestamp=-1),
        replace(DELETION, modification_timestamp=None),
        replace(DELETION, modification_timestamp=10**18),
        replace(DELETION, modification_timestamp=OLD + 1_000 * 86_400),
        replace(DELETION, path_uri="x" * 250),
        replace(DELETION, base_uri="s3://b/".ljust(249, "x") + "/"),
        replace(DELETION, path_uri="s3://b/other/x.parquet"),
        replace(DELETION, path_uri="../u/x.parquet"),
        replace(DELETION, path_uri="data//x.parquet"),
        replace(DELETION, path_uri="/x.parquet"),
        replace(DELETION, path_uri="data/?.parquet"),
        replace(DELETION, path_uri=None),
        replace(DELETION, base_uri="s3://b/db/t"),
        replace(DELETION, base_uri="b/db/t/"),
    ],
)
def test_s08_a_deferred_deletion_in_doubt_is_left_out_with_its_reason(
    importing: Importing, deletion: JavaFileDeletion
) -> None:
    importing.rows(SWEPT, deletions=[DELETION, deletion])
    found = importing.one()
    assert (1, [1]) == (found.file_deletions, list(found.left_out.values()))
    assert [DELETION.path_uri] == [each.path for each in importing.store.file_deletions(UUID(ID))]


def test_s10_of_two_instants_with_one_local_time_the_first_counts(importing: Importing) -> None:
    importing.rows(replace(MARKED, identify_started=datetime(2026, 10, 25, 2, 30)))
    importing.one()
    assert datetime(2026, 10, 25, 0, 30, tzinfo=UTC) == importing.stored().created


def test_s10_the_age_of_an_imported_live_set_counts_from_its_original_start(importing: Importing) -> None:
    importing.rows(replace(MARKED, identify_started=datetime(2020, 1, 1)))
    importing.one()
    with pytest.raises(SafetyError, match="max_live_set_age"):
        importing.services.sweep(UUID(ID))


def test_another_live_set_with_the_same_id_is_left_alone(importing: Importing) -> None:
    importing.store.start_identify(UUID(ID), repository="another", created=CREATED)
    importing.rows(MARKED)
    assert "there is a live set of another" in (importing.one().reason or "")
    assert LiveSetStatus.IDENTIFY_IN_PROGRESS is importing.stored().status


def test_one_live_set_is_chosen_by_its_id(importing: Importing) -> None:
    other = str(uuid4())
    importing.rows(MARKED, replace(MARKED, live_set_id=other))
    assert [ID] == [each.live_set_id for each in importing.run(java_live_set=ID.upper()).live_sets]
    with pytest.raises(ConfigurationError, match="is not in the tables"):
        importing.run(java_live_set=str(uuid4()))


def test_nothing_is_imported_while_the_repository_is_collected(importing: Importing) -> None:
    importing.rows(MARKED)
    identity = importing.services.repository.identity()
    with hold_lease(importing.store, [identity], timedelta(minutes=1)), pytest.raises(LeaseHeldError):
        importing.run()
    assert [] == list(importing.store.live_sets())


@pytest.mark.parametrize(
    ("contents", "reason"),
    [
        ([replace(CONTENT, commit_id="bb"), replace(CONTENT, commit_id="cc")], "none of its commits is in memory:"),
        ([], "it has no contents"),
    ],
)
def test_s09_a_live_set_that_may_be_of_another_repository_is_left_out(
    importing: Importing, contents: list[JavaContentVersion], reason: str
) -> None:
    """Its deferred deletions would be checked against references that never needed the files."""
    importing.rows(SWEPT, contents=contents)
    found = importing.one()
    assert (None, True) == (found.status, (found.reason or "").startswith(reason))
    assert [] == list(importing.store.live_sets())


def test_s09_one_commit_tells_of_which_repository_a_live_set_is(importing: Importing) -> None:
    importing.rows(MARKED, contents=[replace(CONTENT, commit_id="bb", content_id="d"), CONTENT])
    assert LiveSetStatus.IDENTIFY_SUCCESS is importing.one().status


def test_s08_the_age_of_deferred_deletions_has_a_floor() -> None:
    with pytest.raises(ConfigurationError, match="min_deferred_age"):
        ImportJavaParameters.from_mapping({"java_time_zone": "UTC", "min_deferred_age": "PT0S"})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"java_time_zone": None}, "`java_time_zone` is missing"),
        ({"java_time_zone": "Middle/Earth"}, "'Middle/Earth' is not a time zone"),
        ({"java_user": "me"}, "need `java_url`"),
    ],
)
def test_s27_parameters_that_are_not_understood_are_refused(
    importing: Importing, given: dict[str, str], says: str
) -> None:
    importing.rows(MARKED)
    with pytest.raises(ConfigurationError, match=says):
        importing.run(**given)


def test_a_store_that_cannot_read_such_tables_is_refused(services: LakeServices) -> None:
    with pytest.raises(ConfigurationError, match="'memory' cannot read tables of the Java tool"):
        ImportJavaService(ImportJavaParameters(java_time_zone="UTC")).run(services.run())


# ---- what is imported is checked again ----------------------------------------------------------------
class Lake:
    """A table with an old and a new state, a table on another branch, and a file that nobody needs."""

    def __init__(self, lake: MemoryLake, importing: Importing) -> None:
        self.lake, self.importing = lake, importing
        old = lake.table("db.t", location="memory://wh/db/t").append("old.parquet")
        self.new = old.overwrite("new.parquet")
        beside = lake.table("db.beside", location="memory://wh/db/t").append("beside.parquet")
        lake.commit("main", put(old.version))
        lake.branch("b", lake.commit("main", put(self.new.version)))
        lake.commit("b", put(beside.version))
        self.needed = old.needed | self.new.needed | beside.needed
        self.dead = lake.put("memory://wh/db/t/data/nobody.parquet")
        lake.advance(timedelta(days=3))
        importing.store.clock = lambda: lake.time

    def take(self, status: str, *paths: str) -> UUID:
        """Imports a live set that knows only the new state, with deferred deletions."""
        naive, version = self.lake.time.replace(tzinfo=None), self.new.version
        assert version.metadata_location is not None
        content = replace(
            CONTENT,
            content_id=version.content_id,
            content_type=version.content_type,
            metadata_location=version.metadata_location,
            snapshot_id=version.snapshot_id,
        )
        base, old = "memory://wh/db/t/", 1_000 * int((self.lake.time - timedelta(days=2)).timestamp())
        self.importing.rows(
            replace(MARKED, status=status, identify_started=naive, identify_finished=naive),
            contents=[content],
            locations=[JavaBaseLocation(content_id=version.content_id, base_location=base)],
            deletions=[
                JavaFileDeletion(base_uri=base, path_uri=path.removeprefix(base), modification_timestamp=old)
                for path in paths
            ],
        )
        self.importing.one(java_time_zone="UTC")
        return UUID(ID)


@pytest.fixture
def site(lake: MemoryLake, importing: Importing) -> Lake:
    return Lake(lake, importing)


def test_s09_the_sweep_of_an_imported_live_set_keeps_what_any_reference_needs(site: Lake) -> None:
    report = site.importing.services.sweep(site.take("IDENTIFY_SUCCESS"))
    assert site.needed <= site.lake.paths()
    assert site.dead not in site.lake.paths()
    assert 2 == report.references_moved


def test_s09_imported_deferred_deletions_are_checked_again(site: Lake) -> None:
    data = sorted(path for path in site.needed if path.endswith(".parquet"))
    report = site.importing.services.delete_deferred(site.take("EXPIRY_SUCCESS", *data, site.dead))
    assert site.needed <= site.lake.paths()
    assert site.dead not in site.lake.paths()
    assert len(data) == report.outcomes[Outcome.SPARED].files


def test_s08_a_file_that_was_written_anew_at_the_path_of_an_imported_deletion_stays(site: Lake) -> None:
    """The rows of the Java tool stay when it deletes their files, so that it may have deleted this one before."""
    gone = site.lake.put("memory://wh/db/t/data/gone.parquet")
    site.lake.objects.delete(gone)
    live_set = site.take("EXPIRY_SUCCESS", site.dead, gone)
    site.lake.put(site.dead)
    report = site.importing.services.delete_deferred(live_set)
    assert site.dead in site.lake.paths()
    assert (1, 0) == (report.outcomes[Outcome.TOO_YOUNG].files, report.outcomes[Outcome.DELETED].files)


def test_a_state_is_never_safe_from_an_imported_sweep(site: Lake) -> None:
    """Nobody knows under which policies it swept."""
    site.take("EXPIRY_SUCCESS")
    state = State(target="x", time=site.lake.time - timedelta(days=9), ended=site.lake.time - timedelta(days=8))
    sweeps = sweeps_of(site.importing.store, site.importing.services.repository.identity())
    assert f"the sweep of live set {ID} may have deleted files of it" == swept_by(sweeps, "main", state)
