"""S20: tables that only the listing of a warehouse shows go when an old live set, and all since, know nothing there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryContentToFiles, MemoryLake, MemoryRepository, TableState, content, delete, put

from nessie_gc_core.errors import ConfigurationError, ListingError, RepositoryError
from nessie_gc_core.model.repository import UNKNOWN_CONTENT, ContentVersion
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
WAREHOUSE = "memory://warehouse"
PLACE = f"{WAREHOUSE}/db/forgotten"


RULE = SweepParameters(min_age=HOUR, dropped_after=10 * DAY, dropped_under=(WAREHOUSE,), allow=(WAREHOUSE,))


class ForgottenLake:
    """A lake with one live table, and one of which only its files are left."""

    def __init__(self, lake: MemoryLake, services: LakeServices) -> None:
        self.lake, self.services = lake, services
        self.kept = self.commit("db.kept", f"{WAREHOUSE}/db/kept")
        self.table = self.write()

    def commit(self, key: str, location: str, *, reference: str = "main") -> TableState:
        """Makes a table that a reference shows."""
        table = self.lake.table(key, location=location, content_id=key).append("a.parquet")
        self.lake.commit(reference, put(table.version))
        return table

    def write(self, location: str = PLACE) -> TableState:
        """Makes one that nobody commits."""
        return self.lake.table("db.forgotten", location=location, content_id=location).append("f.parquet")

    def collect(self, *under: str) -> GcReport:
        """A collection for which ten days are long enough."""
        return self.services.collect("1", sweep=replace(RULE, dropped_under=under or (WAREHOUSE,)))

    def collect_daily(self, days: int) -> list[bool]:
        """Whether the files are there after each of some collections, a day apart."""
        there = []
        for _ in range(days):
            self.lake.advance(DAY)
            self.collect()
            there.append(self.is_there)
        return there

    @property
    def is_there(self) -> bool:
        """Whether all of its files are; of some of them only its newest metadata is ever left, for one more run."""
        mine = {path for path in self.lake.paths() if path.startswith(PLACE + "/")}
        whole = mine >= self.lake.needed_files([self.table.version])
        assert whole or mine <= {self.table.metadata_location}
        return whole


@pytest.fixture
def forgotten(lake: MemoryLake, services: LakeServices) -> ForgottenLake:
    return ForgottenLake(lake, services)


def test_s20_a_table_nobody_knows_goes_when_a_live_set_without_it_is_old_enough(forgotten: ForgottenLake) -> None:
    assert forgotten.collect_daily(11) == [True] * 11
    forgotten.lake.advance(DAY)
    for _ in range(2):  # what shows it goes last
        assert forgotten.collect().dropped == {PLACE + "/": "a table that is in no catalog"}
        assert not forgotten.is_there
    assert forgotten.collect().dropped == {}
    assert not [path for path in forgotten.lake.paths() if path.startswith(PLACE)]
    assert set(forgotten.lake.paths()) >= forgotten.lake.needed_files([forgotten.kept.version])


def test_s20_a_first_run_says_that_it_cannot_know(forgotten: ForgottenLake) -> None:
    forgotten.lake.advance(100 * DAY)
    report = forgotten.collect()
    assert forgotten.is_there
    assert any("no earlier mark is older" in warning for warning in report.warnings)


def test_s20_a_warehouse_that_nobody_names_is_not_searched(forgotten: ForgottenLake) -> None:
    for _ in range(3):
        forgotten.lake.advance(20 * DAY)
        forgotten.collect(f"{WAREHOUSE}/other")
    assert forgotten.is_there


def test_s20_its_youngest_file_counts(forgotten: ForgottenLake) -> None:
    forgotten.collect_daily(5)
    forgotten.table = forgotten.table.append("late.parquet")
    assert forgotten.collect_daily(13) == [True] * 11 + [False] * 2  # counted from the first that saw it


@pytest.mark.parametrize(
    "mark",
    [
        f"{PLACE}/_delta_log/00000000000000000000.json",
        f"{PLACE}/inside/.hoodie/hoodie.properties",
        f"{PLACE}/metadata/version-hint.text",
        f"{WAREHOUSE}/db/_delta_log/00000000000000000000.json",
    ],
)
def test_s32_what_another_format_uses_too_is_not_forgotten(forgotten: ForgottenLake, mark: str) -> None:
    forgotten.lake.put(mark)
    assert all(forgotten.collect_daily(15))


def test_s20_a_file_without_a_time_keeps_its_table(forgotten: ForgottenLake) -> None:
    forgotten.lake.faults.unknown_modified.add(forgotten.lake.put(f"{PLACE}/data/unknown.parquet"))
    assert all(forgotten.collect_daily(15))


def registered_for_a_day(forgotten: ForgottenLake) -> None:
    """A branch showed it, and is gone with all of its commits."""
    forgotten.lake.branch("dev", at="main")
    forgotten.lake.commit("dev", put(forgotten.table.version))
    forgotten.lake.advance(DAY)
    forgotten.services.mark("1")
    forgotten.lake.drop("dev")


def dropped_lately(forgotten: ForgottenLake) -> None:
    """It was registered, and dropped before anybody looked."""
    forgotten.lake.commit("main", put(forgotten.table.version))
    forgotten.lake.commit("main", delete("db.forgotten"))


def known_to_another_repository(forgotten: ForgottenLake) -> None:
    """Another catalog has it, whose live sets are in the same store."""
    other = MemoryLake.named(forgotten.lake.name + "-other")
    other.now = forgotten.lake.time
    other.commit("main", put(forgotten.table.version))
    repository = MemoryRepository.from_options({"lake": other.name})
    replace(forgotten.services, repository=repository).mark("1")


def known_to_the_register_of_another(forgotten: ForgottenLake) -> None:
    """Another catalog has it, which was swept once, and whose live sets are deleted."""
    other = MemoryLake.named(forgotten.lake.name + "-other")
    other.now = forgotten.lake.time
    other.commit("main", put(forgotten.table.version))
    repository = MemoryRepository.from_options({"lake": other.name})
    mine = {live_set.id for live_set in forgotten.services.store.live_sets()}
    replace(forgotten.services, repository=repository).collect("1", sweep=SweepParameters(min_age=HOUR))
    for live_set in list(forgotten.services.store.live_sets()):
        if live_set.id not in mine:
            forgotten.services.store.delete(live_set.id)


def known_to_one_that_was_not_marked_lately(forgotten: ForgottenLake) -> None:
    """Another catalog was marked long ago, and may have it by now."""
    other = MemoryLake.named(forgotten.lake.name + "-other")
    other.now = forgotten.lake.time - 30 * DAY
    other.commit("main", put(other.table("db.t", location=f"{WAREHOUSE}/other/t").append("o").version))
    repository = MemoryRepository.from_options({"lake": other.name})
    services = replace(forgotten.services, repository=repository, clock=lambda: other.time)
    forgotten.lake.now, now = other.time, forgotten.lake.time  # the clock of the store
    services.mark("1")
    forgotten.lake.now = now
    other.commit("main", put(forgotten.table.version))


def known_to_one_of_a_type_that_nobody_reads(forgotten: ForgottenLake) -> None:
    """Another catalog has a content of which nobody can say where its files are."""
    other = MemoryLake.named(forgotten.lake.name + "-other")
    other.now = forgotten.lake.time
    strange = replace(forgotten.table.version, content_type="STRANGE", metadata_location="memory://elsewhere/m/1")
    other.commit("main", put(strange))
    replace(forgotten.services, repository=MemoryRepository.from_options({"lake": other.name})).mark("1")


def dropped_by_commits_that_do_not_say_so(forgotten: ForgottenLake) -> None:
    """Commits of which nobody knows what they did registered and dropped it."""
    forgotten.lake.commit("main", put(forgotten.table.version), hides_operations=True)
    forgotten.lake.commit("main", delete("db.forgotten"), hides_operations=True)


def with_a_file_of_somebody_else(forgotten: ForgottenLake) -> None:
    """Another program has a file in its folder."""
    forgotten.lake.put(f"{PLACE}/data/somebody-elses.csv")


def where_a_live_content_cannot_be_read(forgotten: ForgottenLake) -> None:
    """A manifest of a live table cannot be read, so that it may need any file."""
    manifests = [path for path in forgotten.lake.needed_files([forgotten.kept.version]) if "manifest" in path]
    broken = OSError("the store is tired")
    forgotten.lake.faults.reading.update(dict.fromkeys(manifests, broken))


def live_and_unreadable(forgotten: ForgottenLake) -> None:
    """It is live, and cannot be read."""
    forgotten.lake.commit("main", put(forgotten.table.version))
    broken = OSError("the disk is broken")
    forgotten.lake.faults.reading[forgotten.table.metadata_location] = broken


def holds_a_live_one(forgotten: ForgottenLake) -> None:
    """A live table lies in its folder."""
    forgotten.commit("db.inside", f"{PLACE}/inside")


def lies_in_a_live_one(forgotten: ForgottenLake) -> None:
    """Its folder lies in that of a live table, to which its files belong."""
    data = forgotten.lake.table("db.around", location=f"{WAREHOUSE}/db", content_id="around")
    forgotten.lake.commit("main", put(data.version))
    forgotten.lake.commit("main", put(forgotten.table.version))


@pytest.mark.parametrize(
    "known",
    [
        registered_for_a_day,
        dropped_lately,
        known_to_another_repository,
        known_to_the_register_of_another,
        known_to_one_that_was_not_marked_lately,
        known_to_one_of_a_type_that_nobody_reads,
        dropped_by_commits_that_do_not_say_so,
        with_a_file_of_somebody_else,
        where_a_live_content_cannot_be_read,
        live_and_unreadable,
        holds_a_live_one,
        lies_in_a_live_one,
    ],
)
def test_s20_what_anybody_knows_lately_is_not_forgotten(
    forgotten: ForgottenLake, known: Callable[[ForgottenLake], None]
) -> None:
    forgotten.lake.advance(2 * HOUR)
    forgotten.services.mark("1")
    forgotten.lake.advance(12 * DAY)  # else it would go with the next collection
    known(forgotten)
    assert all(forgotten.collect_daily(9))


@pytest.mark.parametrize("is_live", [True, False])
def test_s20_what_a_catalog_could_not_read_may_need_any_file_and_the_report_says_so(
    forgotten: ForgottenLake, is_live: bool
) -> None:
    busy = content("db.busy", metadata_location=None, content_type=UNKNOWN_CONTENT, location=f"{WAREHOUSE}/db/busy")
    forgotten.lake.advance(2 * HOUR)
    forgotten.services.mark("1")
    forgotten.lake.advance(12 * DAY)
    forgotten.lake.commit("main", put(busy))
    if not is_live:
        forgotten.lake.commit("main", delete("db.busy"))
    report = forgotten.collect()
    said = "some of the live contents cannot be read" if is_live else "the catalog of db.busy could not read it"
    assert (True, 1) == (forgotten.is_there, sum(said in warning for warning in report.warnings))


def test_s20_what_becomes_live_and_cannot_be_read_may_need_it(forgotten: ForgottenLake) -> None:
    forgotten.collect_daily(10)
    forgotten.lake.advance(3 * DAY)

    def appears() -> None:
        table = forgotten.commit("db.new", f"{WAREHOUSE}/db/new")
        manifests = [path for path in forgotten.lake.needed_files([table.version]) if "manifest" in path]
        forgotten.lake.faults.reading.update(dict.fromkeys(manifests, OSError("the store is tired")))

    forgotten.services.collect("1", sweep=RULE, between=appears)
    assert forgotten.is_there
    forgotten.lake.faults.reading.clear()
    forgotten.services.collect("1", sweep=RULE)
    assert not forgotten.is_there


def test_s20_what_others_keep_by_its_metadata_stays(forgotten: ForgottenLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryContentToFiles, "kept_by_others", lambda reader, version: "it says so")
    assert all(forgotten.collect_daily(15))
    assert any("stays: it says so" in warning for warning in forgotten.collect().warnings)


def test_s20_a_table_in_which_others_keep_one_stays_too(
    forgotten: ForgottenLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = forgotten.write(f"{PLACE}/inner")

    def kept_by_others(reader: object, version: ContentVersion) -> str | None:
        if version.metadata_location != inner.metadata_location:
            return None
        raise ValueError("no reader should, but it may")

    monkeypatch.setattr(MemoryContentToFiles, "kept_by_others", kept_by_others)
    forgotten.collect_daily(15)
    assert set(forgotten.lake.paths()) >= forgotten.lake.needed_files([inner.version])
    assert forgotten.is_there


def test_s15_files_that_could_not_go_are_found_again(forgotten: ForgottenLake) -> None:
    data = [path for path in forgotten.lake.paths() if path.startswith(f"{PLACE}/data")]
    forgotten.lake.faults.deleting.update(dict.fromkeys(data, "the store is tired"))
    for _ in range(11):
        forgotten.lake.advance(DAY)
        forgotten.collect()
    forgotten.lake.advance(DAY)
    report = forgotten.collect()
    assert report.outcomes[Outcome.FAILED].files == len(data)
    left = {path for path in forgotten.lake.paths() if path.startswith(PLACE)}
    assert left == {*data, forgotten.table.metadata_location}
    forgotten.lake.faults.deleting.clear()
    for _ in range(2):
        forgotten.collect()
    assert not [path for path in forgotten.lake.paths() if path.startswith(PLACE)]


def test_s20_a_warehouse_may_be_the_folder_of_a_table(forgotten: ForgottenLake) -> None:
    for _ in range(3):
        forgotten.lake.advance(20 * DAY)
        forgotten.collect(PLACE)
    assert not forgotten.is_there


def test_s20_how_deep_a_location_has_to_be_limits_no_listing(forgotten: ForgottenLake) -> None:
    replace(RULE, min_depth=2).check(forgotten.services.choice)


def test_s20_a_folder_that_was_copied_is_no_table(forgotten: ForgottenLake) -> None:
    for path in [path for path in forgotten.lake.paths() if path.startswith(PLACE)]:
        stored = forgotten.lake.objects.get(path)
        assert stored is not None
        forgotten.lake.put(path.replace(PLACE, f"{WAREHOUSE}/backup/forgotten"), stored.data or stored.size)
    odd = forgotten.write(f"{WAREHOUSE}/db/odd")
    stored = forgotten.lake.objects.get(odd.metadata_location)
    assert stored is not None
    assert stored.data is not None
    forgotten.lake.put(odd.metadata_location, stored.data.replace(b"memory://warehouse/db/odd", b"far/away"))
    forgotten.collect_daily(15)
    assert not forgotten.is_there
    assert any(path.startswith(f"{WAREHOUSE}/backup/forgotten") for path in forgotten.lake.paths())
    assert any(path.startswith(f"{WAREHOUSE}/db/odd") for path in forgotten.lake.paths())


def test_s20_what_is_no_table_stays(forgotten: ForgottenLake) -> None:
    others = {
        forgotten.lake.put(f"{WAREHOUSE}/{name}") for name in ("db/x.csv", "metadata/1.metadata.json", "a/v1.json")
    }
    forgotten.collect_daily(15)
    assert set(forgotten.lake.paths()) >= others


def test_s20_a_warehouse_whose_listing_breaks_off_is_left_alone(forgotten: ForgottenLake) -> None:
    forgotten.collect_daily(10)
    forgotten.lake.faults.listing[f"{WAREHOUSE}/"] = ListingError("the store is tired")
    forgotten.lake.advance(5 * DAY)
    report = forgotten.collect()
    assert forgotten.is_there
    assert any("the store is tired" in warning for warning in report.warnings)


def test_s20_a_reader_that_the_engine_cannot_use_is_a_doubt_and_no_failure(
    forgotten: ForgottenLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def homes(*arguments: object) -> None:
        raise ConfigurationError("the reader works in one process only")

    monkeypatch.setattr("nessie_gc_core.services.forgotten.Homes", homes)
    forgotten.lake.advance(2 * HOUR)
    forgotten.collect()
    forgotten.lake.advance(20 * DAY)
    assert any("works in one process only" in warning for warning in forgotten.collect().warnings)
    assert forgotten.is_there


def test_s20_without_the_commits_nothing_is_forgotten(forgotten: ForgottenLake) -> None:
    forgotten.collect_daily(10)
    head = next(iter(forgotten.services.repository.references())).commit_id
    assert head is not None
    forgotten.commit("db.more", f"{WAREHOUSE}/db/more")
    forgotten.lake.faults.log[head] = RepositoryError("the server forgot this commit")
    assert all(forgotten.collect_daily(5))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"allow": (WAREHOUSE,)}, "needs `dropped_after`"),
        ({"dropped_after": DAY}, "needs `allow`"),
        ({"dropped_after": DAY, "allow": ("memory://warehouse/db",)}, "is outside the allowed locations"),
        ({"dropped_after": DAY, "allow": (WAREHOUSE,), "dropped_under": ("db",)}, "`dropped_under`: "),
        ({"dropped_after": DAY, "allow": (WAREHOUSE,), "defer_deletes": True}, "are mutually exclusive"),
    ],
)
def test_s20_a_warehouse_has_to_be_allowed(forgotten: ForgottenLake, given: dict[str, Any], message: str) -> None:
    sweep = SweepParameters(**{"dropped_under": (WAREHOUSE,), **given})
    with pytest.raises(ConfigurationError, match=message):
        sweep.check(forgotten.services.choice)
