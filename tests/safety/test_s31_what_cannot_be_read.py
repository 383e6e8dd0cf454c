"""S31: what cannot be read may need whatever its content was ever seen to need; of one never read nothing is known."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, content, delete, put

from nessie_gc_core.algorithms.reach import MAX_PLACES
from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model import UNKNOWN_CONTENT
from nessie_gc_core.model.live_sets import ReachedPlace
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService
from nessie_gc_core.services.parameters import SweepParameters

DAYS = timedelta(days=3)
NEVER = "cannot be read and never could"


def table(lake: MemoryLake, name: str) -> TableState:
    return lake.table(f"db.{name}", location=f"memory://wh/db/{name}")


class Adopted:
    """A table that took over a file of another one, which has let it go; and a third one that has nothing to do."""

    def __init__(self, lake: MemoryLake) -> None:
        self.lake = lake
        host = table(lake, "host").append("taken.parquet")
        self.taken = "memory://wh/db/host/data/taken.parquet"
        self.guest = table(lake, "guest").append(self.taken)
        self.host = host.overwrite("new.parquet")
        third = table(lake, "third").append("a.parquet")
        lake.commit("main", *(put(each.version) for each in (self.host, self.guest, third)))
        self.garbage = lake.put("memory://wh/db/third/data/nobody.parquet")
        lake.advance(DAYS)

    def breaks(self) -> None:
        self.lake.put(self.guest.metadata_location, b"broken")

    def garbage_again(self) -> None:
        self.lake.put(self.garbage)
        self.lake.advance(DAYS)


@pytest.fixture
def adopted(lake: MemoryLake) -> Adopted:
    return Adopted(lake)


def test_s31_files_that_a_content_took_over_stay_when_it_cannot_be_read_any_more(
    lake: MemoryLake, tmp_path: Path, engine: Engine
) -> None:
    adopted = Adopted(lake)
    services = on_disk(lake, tmp_path, engine)
    taken, garbage, metadata = (
        tmp_path / path.removeprefix("memory://")
        for path in (adopted.taken, adopted.garbage, adopted.guest.metadata_location)
    )
    services.collect("1", sweep=SweepParameters(max_deletes=0))
    metadata.write_bytes(b"broken")
    report = services.collect("1")
    assert (True, False) == (taken.exists(), garbage.exists())
    assert 1 == report.exit_code
    assert not any(NEVER in warning for warning in report.warnings)


def test_s31_nothing_is_deleted_while_a_content_is_unreadable_that_never_was_read(
    adopted: Adopted, services: LakeServices
) -> None:
    adopted.breaks()
    before = adopted.lake.paths()
    report = services.collect("1")
    assert (before, 1) == (adopted.lake.paths(), report.exit_code)
    [said] = [warning for warning in report.warnings if NEVER in warning]
    assert "1 content " in said
    assert ": db.guest (" in said
    assert "`set_aside` 'db[.]guest'" in said


@pytest.mark.parametrize("level", ["manifest list", "manifest"])
def test_s31_a_content_with_a_part_that_was_never_read_was_never_read(
    adopted: Adopted, services: LakeServices, level: str
) -> None:
    [manifest] = adopted.guest.manifests[1]
    path = adopted.guest.snapshots[1] if level == "manifest list" else manifest
    adopted.lake.faults.reading[path] = UnreadableFileError(path, "no disk")
    before = adopted.lake.paths()
    assert 1 == services.collect("1").exit_code
    assert before == adopted.lake.paths()
    services.collect("1")
    assert before == adopted.lake.paths()
    adopted.lake.faults.reading.clear()
    services.collect("1")
    adopted.garbage_again()
    adopted.lake.faults.reading[path] = UnreadableFileError(path, "no disk")
    services.collect("1")
    assert (True, False) == (adopted.taken in adopted.lake.paths(), adopted.garbage in adopted.lake.paths())


@pytest.mark.parametrize("level", ["manifest list", "manifest"])
def test_s31_a_version_that_could_be_read_but_for_one_of_its_snapshots_was_not_read(
    lake: MemoryLake, tmp_path: Path, engine: Engine, level: str
) -> None:
    """A tag of the table holds the snapshot that took over the file; the current one can be read."""
    host = table(lake, "host").append("taken.parquet")
    taken = f"{host.location}/data/taken.parquet"
    guest = table(lake, "guest").append(taken).overwrite("own.parquet").hold(1)
    lake.commit("main", put(host.overwrite("new.parquet").version), put(guest.version))
    lake.put(guest.manifests[1][0] if level == "manifest" else guest.snapshots[1], b"broken")
    lake.advance(DAYS)
    services = on_disk(lake, tmp_path, engine)
    for _ in range(2):
        report = services.collect("1")
        assert (tmp_path / taken.removeprefix("memory://")).exists()
        assert any(NEVER in warning for warning in report.warnings)


def test_s31_a_content_of_which_one_version_can_be_read_was_read(lake: MemoryLake, services: LakeServices) -> None:
    """The other version has a snapshot that can be read and one that cannot."""
    guest = table(lake, "guest").append("a.parquet")
    half = guest.overwrite("b.parquet").hold(1)
    whole = half.overwrite("c.parquet").hold()
    lake.commit("main", put(half.version))
    lake.commit("dev", put(whole.version))
    lake.put(guest.snapshots[1], b"broken")
    other = table(lake, "other").append("a.parquet")
    lake.commit("main", put(other.version))
    garbage = lake.put(f"{other.location}/data/nobody.parquet")
    lake.advance(DAYS)
    services.collect("1")
    assert garbage not in lake.paths()


@pytest.mark.parametrize(
    "metadata", [{}, {"format-version": 4, "snapshots": [{"manifest-list": "metadata/1.parquet"}]}]
)
def test_s31_metadata_that_names_no_absolute_place_counts_as_never_read(
    adopted: Adopted, services: LakeServices, metadata: object
) -> None:
    services.collect("1")
    adopted.garbage_again()
    adopted.lake.put(adopted.guest.metadata_location, json.dumps(metadata).encode())
    before = adopted.lake.paths()
    report = services.collect("1")
    assert before == adopted.lake.paths()
    assert any(NEVER in warning for warning in report.warnings)


def test_s31_a_version_that_breaks_off_before_its_first_snapshot_was_not_read(
    adopted: Adopted, services: LakeServices
) -> None:
    stored = adopted.lake.objects.get(adopted.guest.metadata_location)
    found = json.loads((stored and stored.data) or b"")
    found["snapshots"]["1"] = "memory://wh/\ud800"
    adopted.lake.put(adopted.guest.metadata_location, json.dumps(found).encode())
    before = adopted.lake.paths()
    adopted.lake.advance(DAYS)
    for _ in range(2):
        report = services.collect("1")
        assert any(NEVER in warning for warning in report.warnings)
    assert before == adopted.lake.paths()


def test_s31_a_manifest_of_another_table_leads_to_what_it_names(lake: MemoryLake, services: LakeServices) -> None:
    """A shallow copy has only a manifest list of its own."""
    owner = table(lake, "owner").append("memory://wh/db/source/data/a.parquet")
    source = table(lake, "source").append("b.parquet")
    copy = table(lake, "copy")
    listed = lake.put(
        f"{copy.location}/metadata/copy-snap.json",
        json.dumps({"memory": "manifest-list", "manifests": owner.manifests[1]}).encode(),
    )
    copy = replace(copy, current=1, snapshots={1: listed}, manifests={1: owner.manifests[1]}, files=owner.files)
    copy = copy._stored()
    lake.commit("main", *(put(each.version) for each in (owner, source, copy)))
    lake.advance(DAYS)
    services.collect("1")
    lake.commit("main", delete("db.owner"))
    lake.put(copy.metadata_location, b"broken")
    services.collect("1")
    assert owner.needed - {owner.metadata_location} <= lake.paths()


def test_s31_a_table_that_names_only_files_leads_no_further(lake: MemoryLake, services: LakeServices) -> None:
    """What the host took over itself is no business of its guest."""
    other = table(lake, "other").append("a.parquet")
    host = table(lake, "host").append("b.parquet", "memory://wh/db/other/data/a.parquet")
    guest = table(lake, "guest").append("memory://wh/db/host/data/b.parquet")
    lake.commit("main", *(put(each.version) for each in (other, host, guest)))
    lake.advance(DAYS)
    services.collect("1")
    dead = [lake.put(f"memory://wh/db/{name}/data/nobody.parquet") for name in ("host", "other")]
    lake.advance(DAYS)
    lake.put(guest.metadata_location, b"broken")
    services.collect("1")
    assert [True, False] == [path in lake.paths() for path in dead]


def test_s31_places_that_are_reached_are_no_dropped_tables(adopted: Adopted, services: LakeServices) -> None:
    lake, rule = adopted.lake, SweepParameters(dropped_after=timedelta(days=1), min_age=timedelta(hours=1))
    stranger = lake.put("memory://wh/strangers/t/data/a.parquet")
    nobody = lake.put("memory://wh/strangers/t/data/nobody.parquet")
    lake.commit("main", put(adopted.guest.append(stranger).version))
    for _ in range(3):
        services.collect("1", sweep=rule)
        lake.advance(DAYS)
    assert [ReachedPlace(content_id="db.guest", place="memory://wh/strangers/t/data/")] == [
        each
        for each in services.store.reached(services.repository.identity(), ["db.guest"])
        if "strangers" in each.place
    ]
    lake.commit("main", delete("db.guest"))
    for _ in range(5):
        lake.advance(DAYS)
        services.collect("1", sweep=rule)
    assert {stranger, nobody} <= lake.paths()


def test_s31_a_place_beyond_all_tables_is_kept_for_later(lake: MemoryLake, services: LakeServices) -> None:
    """It becomes the place of a table only when the content that has files there cannot be read any more."""
    stranger = lake.put("memory://wh/strangers/t/data/day=1/a.parquet")
    guest = table(lake, "guest").append(stranger)
    lake.commit("main", put(guest.version))
    lake.advance(DAYS)
    services.collect("1")
    there = lake.table("db.there", location="memory://wh/strangers/t").append("b.parquet")
    lake.commit("main", put(there.version))
    lake.put(guest.metadata_location, b"broken")
    lake.advance(DAYS)
    services.collect("1")
    assert stranger in lake.paths()


def test_s31_what_is_remembered_of_a_content_is_bounded(lake: MemoryLake, services: LakeServices) -> None:
    strangers = [lake.put(f"memory://wh/n{n}/t{n}/data/a.parquet") for n in range(4 * MAX_PLACES)]
    guest = table(lake, "guest").append(*strangers)
    lake.commit("main", put(guest.version))
    lake.advance(DAYS)
    services.collect("1")
    places = {each.place for each in services.store.reached(services.repository.identity(), ["db.guest"])}
    assert len(places) <= MAX_PLACES
    assert all(path.startswith(tuple(place for place in places if place)) for path in strangers)


def test_s31_what_was_reached_is_never_taken_back(adopted: Adopted, services: LakeServices) -> None:
    services.collect("1")
    lake = adopted.lake
    lake.commit("main", put(adopted.guest.overwrite("own.parquet").version))
    lake.commit("main", put(adopted.host.overwrite("newer.parquet").version))
    services.collect("1")
    broken = adopted.guest.overwrite("late.parquet")
    lake.commit("main", put(broken.version))
    lake.put(broken.metadata_location, b"broken")
    garbage = lake.put("memory://wh/db/host/data/nobody.parquet")
    lake.advance(DAYS)
    services.collect("1")
    assert garbage in lake.paths()


def test_s31_a_content_that_is_new_and_unreadable_just_before_the_deletion_stops_it(
    adopted: Adopted, services: LakeServices
) -> None:
    live_set = services.mark("1")
    late = table(adopted.lake, "late").append("memory://wh/db/third/data/nobody.parquet")
    adopted.lake.commit("main", put(late.version))
    adopted.lake.put(late.metadata_location, b"broken")
    adopted.lake.advance(DAYS)
    before = adopted.lake.paths()
    report = services.sweep(live_set)
    assert before == adopted.lake.paths()
    assert any("db.late" in warning and NEVER in warning for warning in report.warnings)


@pytest.mark.parametrize("known", [False, True])
def test_s31_a_deferred_deletion_stops_for_a_content_that_is_unreadable_by_then(
    adopted: Adopted, services: LakeServices, *, known: bool
) -> None:
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    again = adopted.guest.append("b.parquet") if known else table(adopted.lake, "late").append("b.parquet")
    adopted.lake.commit("main", put(again.version))
    adopted.lake.put(again.metadata_location, b"broken")
    services.delete_deferred(live_set)
    assert known == (adopted.garbage not in adopted.lake.paths())
    assert adopted.taken in adopted.lake.paths()


def test_s31_orphan_files_of_one_table_stay_while_another_content_may_need_them(
    adopted: Adopted, services: LakeServices
) -> None:
    adopted.breaks()
    before = adopted.lake.paths()
    for name in ("db.host", "db.third"):
        parameters = RemoveOrphanFilesParameters(table=name, older_than="PT0S", no_age_floor=True)
        report = RemoveOrphanFilesService(parameters).run(services.run())
        assert any(NEVER in warning for warning in report.warnings)
    assert before == adopted.lake.paths()


def test_s31_what_a_repository_could_not_read_itself_counts_by_what_was_at_its_place(
    adopted: Adopted, services: LakeServices
) -> None:
    services.collect("1", sweep=SweepParameters(max_deletes=0))
    location = adopted.guest.location
    unknown = content(
        "db.guest", content_id="?", metadata_location=None, content_type=UNKNOWN_CONTENT, location=location
    )
    adopted.lake.commit("main", put(unknown))
    adopted.lake.advance(DAYS)
    services.collect("1")
    assert (True, False) == (adopted.taken in adopted.lake.paths(), adopted.garbage in adopted.lake.paths())


@pytest.mark.parametrize("late", [False, True], ids=["at the mark", "just before the deletion"])
def test_s31_what_a_repository_knows_by_its_name_alone_is_what_had_the_name_before(
    adopted: Adopted, services: LakeServices, *, late: bool
) -> None:
    services.collect("1", sweep=SweepParameters(max_deletes=0))
    unknown = content("db.guest", content_id="?", metadata_location=None, content_type=UNKNOWN_CONTENT)

    def breaks() -> None:
        adopted.lake.commit("main", put(unknown))

    if not late:
        breaks()
        adopted.lake.advance(DAYS)
        services.collect("1", sweep=SweepParameters(max_deletes=0))  # this live set does not know the id
    own = adopted.lake.put(f"{adopted.guest.location}/data/nobody.parquet")
    adopted.lake.advance(DAYS)
    report = services.collect("1", between=breaks if late else lambda: None)
    left = adopted.lake.paths()
    assert (True, True, False) == (own in left, adopted.taken in left, adopted.garbage in left)
    assert 1 == report.exit_code
    assert not any(NEVER in warning for warning in report.warnings)


def test_s31_a_name_that_no_earlier_run_knew_stops_the_deletion(adopted: Adopted, services: LakeServices) -> None:
    services.collect("1", sweep=SweepParameters(max_deletes=0))
    unknown = content("db.unseen", content_id="?", metadata_location=None, content_type=UNKNOWN_CONTENT)
    adopted.lake.commit("main", put(unknown))
    adopted.lake.advance(DAYS)
    before = adopted.lake.paths()
    assert (1, before) == (services.collect("1").exit_code, adopted.lake.paths())


def test_s31_what_a_repository_never_could_read_itself_stops_the_deletion(
    adopted: Adopted, services: LakeServices
) -> None:
    location = "memory://wh/db/unseen"
    unknown = content("db.unseen", metadata_location=None, content_type=UNKNOWN_CONTENT, location=location)
    adopted.lake.commit("main", put(unknown))
    adopted.lake.advance(DAYS)
    before = adopted.lake.paths()
    report = services.collect("1")
    assert (before, 1) == (adopted.lake.paths(), report.exit_code)
    assert any("`set_aside` 'db[.]unseen'" in warning for warning in report.warnings)


def test_s31_all_that_a_repository_ever_reached_stays_while_it_cannot_be_read(
    lake: MemoryLake, beside: MemoryLake, together: LakeServices
) -> None:
    host = table(lake, "host").append("taken.parquet").overwrite("new.parquet")
    lake.commit("main", put(host.version))
    guest = beside.table("db.guest", location="memory://wh/beside/guest").append(
        "memory://wh/db/host/data/taken.parquet"
    )
    beside.commit("main", put(guest.version))
    lake.advance(DAYS)
    together.collect("1")
    beside.put(guest.metadata_location, b"broken")
    garbage = lake.put("memory://wh/db/host/data/nobody.parquet")
    lake.advance(DAYS)
    together.collect("1")
    assert "memory://wh/db/host/data/taken.parquet" in lake.paths()
    assert garbage in lake.paths()


def test_s31_a_dry_run_remembers_what_it_read(adopted: Adopted, services: LakeServices) -> None:
    report = services.collect("1", sweep=SweepParameters(dry_run=True))
    assert report.unreferenced.files
    read = {each.content_id for each in services.store.reached(services.repository.identity()) if not each.place}
    assert {"db.host", "db.guest", "db.third"} == read
    adopted.breaks()
    report = services.collect("1", sweep=SweepParameters(dry_run=True))
    assert {"memory://wh/db/third/"} == report.outcomes_in.keys()


def test_s31_a_live_set_that_is_deleted_leaves_what_was_reached(adopted: Adopted, services: LakeServices) -> None:
    report = services.collect("1", sweep=SweepParameters(max_deletes=0))
    services.store.delete(UUID(report.live_set_id))
    adopted.breaks()
    services.collect("1")
    assert adopted.taken in adopted.lake.paths()
