"""S20: a dropped content is collected only after its own grace period, and never when it was created recently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from collecting import LakeServices
from nessie_gc_memory import MemoryFileLister, MemoryLake, delete, put

from nessie_gc_core.errors import RepositoryError, ServiceUnavailableError
from nessie_gc_core.model.live_sets import SeenContent
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

DAY = timedelta(days=1)
PLACE = "memory://warehouse/db/dropped/"


@dataclass
class DroppedLake:
    """A lake in which one table stays, and another is dropped."""

    lake: MemoryLake
    services: LakeServices
    first: str
    """The first commit."""

    def collect(self, *, after: timedelta | None, policy: str = "1") -> GcReport:
        """One collection."""
        sweep = SweepParameters(min_age=timedelta(hours=1), dropped_after=after)
        return self.services.collect(policy, sweep=sweep)

    def create(self, content_id: str = "dropped") -> None:
        """Makes the table."""
        table = self.lake.table("db.dropped", location=PLACE.rstrip("/"), content_id=content_id).append("a.parquet")
        self.lake.commit("main", put(table.version))

    def drop(self) -> None:
        """Drops it."""
        self.lake.commit("main", delete("db.dropped"))

    @property
    def is_there(self) -> bool:
        """Whether its files are, but for the metadata that goes after all others."""
        return any(path.startswith(f"{PLACE}data/") for path in self.lake.paths())


@pytest.fixture
def dropped(lake: MemoryLake, services: LakeServices) -> DroppedLake:
    kept = lake.table("db.kept", location="memory://warehouse/db/kept").append("k")
    found = DroppedLake(lake, services, first=lake.commit("main", put(kept.version)))
    found.create()
    return found


def seen_for(found: DroppedLake, days: int) -> None:
    """Collections that see it alive, a day apart."""
    for _ in range(days):
        found.lake.advance(DAY)
        found.collect(after=10 * DAY)


def test_s20_its_files_go_when_it_is_gone_for_long_enough(dropped: DroppedLake) -> None:
    seen_for(dropped, 15)
    dropped.drop()
    gone = []
    for _ in range(13):
        dropped.lake.advance(DAY)
        dropped.collect(after=10 * DAY)
        gone.append(not dropped.is_there)
    assert gone == [False] * 11 + [True] * 2  # the first of them saw on its first day that it was gone


def test_s20_it_stays_where_nobody_says_how_long_it_has_to_be_gone(dropped: DroppedLake) -> None:
    seen_for(dropped, 15)
    dropped.drop()
    for _ in range(5):
        dropped.lake.advance(30 * DAY)
        dropped.collect(after=None)
    assert dropped.is_there


def test_s20_what_nobody_looked_at_for_long_is_not_gone_for_long(dropped: DroppedLake) -> None:
    seen_for(dropped, 15)
    dropped.lake.advance(100 * DAY)
    dropped.drop()
    dropped.lake.advance(DAY)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there


def test_s20_what_came_back_in_between_is_not_gone_for_long(dropped: DroppedLake) -> None:
    seen_for(dropped, 15)
    dropped.drop()
    dropped.lake.advance(DAY)
    dropped.collect(after=10 * DAY)
    dropped.lake.advance(DAY)
    dropped.lake.commit("main", put(dropped.lake.table("db.dropped", location=PLACE, content_id="dropped").version))
    dropped.lake.advance(DAY)
    dropped.services.mark("1")  # a mark alone sees it
    dropped.lake.advance(9 * DAY)
    dropped.drop()
    dropped.lake.advance(DAY)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there


def test_s20_what_was_made_recently_stays(dropped: DroppedLake) -> None:
    dropped.lake.advance(DAY)
    dropped.collect(after=10 * DAY)  # first seen today
    dropped.drop()
    dropped.lake.advance(DAY)
    dropped.collect(after=10 * DAY)
    dropped.lake.advance(8 * DAY)
    dropped.collect(after=timedelta(hours=1) + 9 * DAY)
    assert dropped.is_there


def test_s20_what_a_live_commit_still_sees_stays(dropped: DroppedLake) -> None:
    dropped.lake.branch("keeps", "main")
    seen_for(dropped, 15)
    dropped.drop()
    for _ in range(3):
        dropped.lake.advance(20 * DAY)
        dropped.collect(after=10 * DAY)
    assert dropped.is_there


def test_s20_what_lies_where_another_content_lives_by_now_stays(dropped: DroppedLake) -> None:
    seen_for(dropped, 15)
    dropped.drop()
    again = dropped.lake.table("db.again", location=PLACE + "data/again", content_id="again").append("n.parquet")
    dropped.lake.commit("main", put(again.version))
    for _ in range(3):
        dropped.lake.advance(20 * DAY)
        report = dropped.collect(after=10 * DAY)
        assert report.outcomes[Outcome.FAILED].files == 0
    kept = {path for path in dropped.lake.paths() if path.startswith(PLACE)}
    assert kept == dropped.lake.needed_files([again.version])


def test_s20_a_content_that_cannot_be_read_is_not_gone(dropped: DroppedLake) -> None:
    seen_for(dropped, 15)
    metadata = [path for path in dropped.lake.paths() if path.startswith(PLACE + "metadata")]
    dropped.lake.faults.reading.update(dict.fromkeys(metadata, OSError("the disk is broken")))
    for _ in range(3):
        dropped.lake.advance(20 * DAY)
        dropped.collect(after=10 * DAY)
    assert dropped.is_there


# ---- what the commits say, where no live set does -----------------------------------------------------
def test_s20_the_first_run_learns_from_the_commits_what_was_dropped(dropped: DroppedLake) -> None:
    dropped.lake.advance(15 * DAY)
    dropped.drop()
    dropped.lake.advance(10 * DAY)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there
    dropped.lake.advance(DAY)
    assert dropped.collect(after=10 * DAY).dropped == {PLACE.rstrip("/"): "db.dropped is dropped"}
    assert not dropped.is_there
    assert any(path.startswith("memory://warehouse/db/kept") for path in dropped.lake.paths())


def test_s20_what_was_committed_recently_stays(dropped: DroppedLake) -> None:
    dropped.lake.advance(30 * DAY)
    dropped.create("new")
    dropped.drop()
    dropped.lake.advance(9 * DAY)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there


def test_s20_the_commits_of_every_reference_are_asked(dropped: DroppedLake) -> None:
    dropped.lake.branch("dev", at="main")
    dropped.drop()
    dropped.lake.advance(30 * DAY)
    dropped.lake.commit("dev", delete("db.dropped"))
    dropped.lake.advance(5 * DAY)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there
    dropped.lake.advance(6 * DAY)
    dropped.collect(after=10 * DAY)
    assert not dropped.is_there


def test_s20_what_a_reference_showed_lately_that_is_gone_stays(dropped: DroppedLake) -> None:
    dropped.lake.branch("dev", at="main")
    dropped.drop()
    dropped.lake.advance(30 * DAY)
    dropped.collect(after=10 * DAY)  # dev still shows it
    dropped.lake.advance(DAY)
    dropped.lake.drop("dev")
    dropped.collect(after=10 * DAY)
    assert dropped.is_there
    dropped.lake.advance(11 * DAY)
    dropped.collect(after=10 * DAY)
    assert not dropped.is_there


def test_s20_a_key_that_is_in_use_again_says_nothing(dropped: DroppedLake) -> None:
    dropped.drop()
    dropped.lake.advance(30 * DAY)
    again = dropped.lake.table("db.dropped", location="memory://warehouse/db/other", content_id="other")
    dropped.lake.commit("main", put(again.append("n.parquet").version))
    dropped.lake.advance(DAY)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there


def test_s20_a_commit_of_which_nobody_knows_what_it_did_may_have_dropped_it(dropped: DroppedLake) -> None:
    dropped.drop()
    dropped.lake.advance(30 * DAY)
    dropped.lake.commit("main", hides_operations=True)
    dropped.lake.advance(DAY)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there


def test_s20_commits_that_cannot_be_read_say_nothing(dropped: DroppedLake) -> None:
    dropped.drop()
    dropped.lake.advance(30 * DAY)
    dropped.lake.faults.log[dropped.first] = RepositoryError("the server forgot this commit")
    report = dropped.collect(after=10 * DAY)
    assert dropped.is_there
    assert any("cannot tell from the commits" in warning for warning in report.warnings)


def test_s20_where_it_was_cannot_be_read_any_more(dropped: DroppedLake) -> None:
    dropped.drop()
    dropped.lake.advance(30 * DAY)
    for path in [path for path in dropped.lake.paths() if path.startswith(PLACE + "metadata")]:
        dropped.lake.objects.delete(path)
    dropped.collect(after=10 * DAY)
    assert dropped.is_there


# ---- what witnesses cannot say ------------------------------------------------------------------------
def test_s20_the_commits_do_not_overrule_a_live_set_that_saw_it_later(dropped: DroppedLake) -> None:
    dropped.lake.branch("dev", at="main")
    dropped.drop()
    for _ in range(4):  # a collection a week, each of which sees it on dev
        dropped.lake.advance(7 * DAY)
        dropped.collect(after=5 * DAY)
    dropped.lake.advance(7 * DAY - timedelta(hours=1))
    dropped.lake.drop("dev")
    dropped.lake.advance(timedelta(hours=1))
    dropped.collect(after=5 * DAY)
    assert dropped.is_there


@pytest.mark.parametrize("sees_it_alive", [True, False])
def test_s20_the_place_is_listed_as_its_metadata_writes_it(dropped: DroppedLake, sees_it_alive: bool) -> None:
    doubled = dropped.lake.table("db.doubled", location="memory://warehouse/db//doubled", content_id="doubled")
    dropped.lake.commit("main", put(doubled.append("a.parquet").version))
    others = dropped.lake.put("memory://warehouse/db/doubled/somebody-elses.csv")
    for _ in range(15 * sees_it_alive):
        dropped.lake.advance(DAY)
        dropped.collect(after=10 * DAY)
    dropped.lake.commit("main", delete("db.doubled"))
    for _ in range(3):
        dropped.lake.advance(12 * DAY)
        dropped.collect(after=10 * DAY)
    assert others in dropped.lake.paths()
    assert not [path for path in dropped.lake.paths() if path.startswith("memory://warehouse/db//doubled/")]


def test_s20_no_clock_makes_a_content_gone_for_longer(dropped: DroppedLake) -> None:
    dropped.lake.advance(30 * DAY)
    dropped.drop()
    dropped.lake.advance(timedelta(hours=2))
    ahead = replace(dropped.services, clock=lambda: dropped.lake.time + 30 * DAY)
    sweep = SweepParameters(min_age=timedelta(hours=1), dropped_after=5 * DAY)
    ahead.collect("1", sweep=sweep)
    assert dropped.is_there


def test_s20_the_stores_clock_decides_how_long_a_content_has_been_gone(
    dropped: DroppedLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table's location has no slash at its end, and a store is asked about places that have one."""

    def five_days_behind(_: MemoryFileLister, location: str) -> datetime:
        if not location.endswith("/"):
            raise ServiceUnavailableError(f"{location!r} is not a location: it must end in a slash")
        return dropped.lake.time - 5 * DAY

    monkeypatch.setattr(MemoryFileLister, "store_time", five_days_behind)
    dropped.lake.advance(40 * DAY)
    dropped.drop()
    found = []
    for days in (12, 4):
        dropped.lake.advance(days * DAY)
        report = dropped.collect(after=10 * DAY)
        found.append((dropped.is_there, [warning for warning in report.warnings if "clock" in warning]))
    assert [(True, []), (False, [])] == found


def test_s20_a_place_that_no_plugin_lists_is_passed_over(dropped: DroppedLake) -> None:
    seen_for(dropped, 15)
    seen = SeenContent(
        content_id="far",
        content_type=ICEBERG_TABLE,
        location="moon://crater/t/",
        first_seen=dropped.lake.time - 99 * DAY,
        last_seen=dropped.lake.time - 99 * DAY,
    )
    dropped.services.store.register_contents(dropped.services.repository.identity(), [seen])
    dropped.lake.advance(DAY)
    report = dropped.collect(after=10 * DAY)
    assert (0, []) == (report.exit_code, list(report.unknown))


@pytest.mark.parametrize("drops_it", [False, True])
def test_s20_a_content_that_nothing_can_hold_stops_nothing_and_stays(dropped: DroppedLake, drops_it: bool) -> None:
    odd = dropped.lake.table("db.odd", location="memory://warehouse/db/odd", content_id="odd\0\ud800").append(
        "o.parquet"
    )
    dropped.lake.commit("main", put(odd.version))
    dropped.drop()
    if drops_it:
        dropped.lake.commit("main", delete("db.odd"))
    dropped.services.read_before()
    dropped.lake.advance(30 * DAY)
    dropped.collect(after=10 * DAY)
    assert {path for path in dropped.lake.paths() if "/db/odd/" in path} >= dropped.lake.needed_files([odd.version])
    assert not dropped.is_there
