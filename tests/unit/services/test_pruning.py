from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from collecting import LakeServices
from lakes_together import DOWN, table
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, TableState, delete, put

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import EXPECTED, FileDeletion, LiveSetStatus, ReferenceHead, marked_with
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.pruning import PruneReport, PruneRule, prune

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)
OLD = PruneRule(older_than=30 * DAY)


class History:
    """Live sets of a store, made on days that are so long ago."""

    def __init__(self) -> None:
        self.store = MemoryLiveSetStore.from_options({})

    def begun(self, days: int, *, repository: str = "lake", policies: Sequence[str] = (), id_: Any = None) -> uuid.UUID:
        """One that is being marked."""
        id_ = id_ or uuid.uuid4()
        policy = (NOW - (days + 10) * DAY).isoformat()
        created = NOW - days * DAY
        self.store.start_identify(id_, repository=repository, created=created, policies=policies or (policy,))
        return id_

    def marked(self, days: int, *, expiry: bool = False, **more: Any) -> uuid.UUID:
        """One that is marked."""
        id_, at = self.begun(days, **more), NOW - days * DAY
        heads = [ReferenceHead(name="main", commit_id="c" + (EXPECTED if expiry else ""), policy="NONE")]
        self.store.finish_identify(id_, at=at, references_listed=at, heads=heads)
        return id_

    def swept(self, days: int, *, deferred: int = 0, failure: str | None = None, **more: Any) -> uuid.UUID:
        """One that is swept."""
        id_, at = self.marked(days, **more), NOW - days * DAY
        self.store.start_expire(id_, at=at)
        files = (FileDeletion(location="s3://b/t/", path=f"{n}", size=1, modified=None) for n in range(deferred))
        self.store.add_file_deletions(id_, files)
        self.store.finish_expire(id_, at=at, failure=failure)
        return id_

    def prune(self, rule: PruneRule = OLD, *, dry_run: bool = False) -> PruneReport:
        return prune(self.store, rule, dry_run=dry_run, clock=lambda: NOW)

    def pruned(self, rule: PruneRule = OLD) -> set[uuid.UUID]:
        """What goes, and is gone."""
        ids = {live_set.id for live_set in self.prune(rule).pruned}
        assert not ids & {live_set.id for live_set in self.store.live_sets()}
        return ids

    def reason(self, id_: uuid.UUID, rule: PruneRule = OLD) -> str:
        """Why one stays."""
        (kept,) = [kept for kept in self.prune(rule, dry_run=True).kept if kept.live_set.id == id_]
        return kept.reason


@pytest.fixture
def history() -> History:
    """Old live sets of a lake, and one of yesterday, which is swept."""
    history = History()
    history.swept(1)
    return history


def test_old_live_sets_go_and_young_ones_stay(history: History) -> None:
    old, young = [history.swept(days) for days in (40, 50)], history.swept(29)
    assert set(old) == history.pruned()
    assert young in {live_set.id for live_set in history.store.live_sets()}


def test_s21_a_dry_run_names_what_would_go_and_removes_nothing(history: History) -> None:
    old = history.swept(40)
    report = history.prune(dry_run=True)
    assert (True, [old]) == (report.dry_run, [live_set.id for live_set in report.pruned])
    assert {old} == history.pruned()


def test_the_newest_of_each_repository_stay_whatever_their_age() -> None:
    history = History()
    marked, swept, older = history.marked(40), history.swept(50), history.swept(60)
    other = history.swept(90, repository="another")
    assert {older} == history.pruned()
    assert "it is the newest of lake that was completely marked" == history.reason(marked)
    assert "it is the newest of lake that was completely swept" == history.reason(swept)
    assert "it is the newest of another that was completely marked" == history.reason(other)


def test_an_expiry_does_not_stand_for_the_newest() -> None:
    history = History()
    history.swept(1, expiry=True)
    needed = history.swept(40)
    assert set() == history.pruned()
    assert "the newest of lake" in history.reason(needed)


@pytest.mark.parametrize("status", [LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.EXPIRY_IN_PROGRESS])
def test_what_is_in_progress_stays(history: History, status: LiveSetStatus) -> None:
    id_ = history.begun(40) if status is LiveSetStatus.IDENTIFY_IN_PROGRESS else history.marked(40)
    if status is LiveSetStatus.EXPIRY_IN_PROGRESS:
        history.store.start_expire(id_, at=NOW)
    assert set() == history.pruned(PruneRule(older_than=30 * DAY, status=(status,)))
    assert f"it is in progress; if its process is gone, `delete(live_set_id={id_})` removes it" == history.reason(id_)


def test_nothing_of_a_repository_that_is_being_collected_goes(history: History) -> None:
    mine, other = history.swept(40), history.swept(40, repository="another")
    history.swept(1, repository="another")
    with hold_lease(history.store, ["lake"], timedelta(minutes=1)):
        assert {other} == history.pruned()
        assert history.reason(mine).startswith("its repository is being collected: process ")
    assert {mine} == history.pruned()


def test_deferred_deletions_are_given_up_by_an_explicit_word_only(history: History) -> None:
    id_ = history.swept(40, deferred=3)
    assert set() == history.pruned()
    assert "it has deferred deletions that have not run; `discard_deferred` discards them" == history.reason(id_)
    assert {id_} == history.pruned(PruneRule(older_than=30 * DAY, discard_deferred=True))


def test_what_an_expiry_that_failed_recorded_stays(history: History) -> None:
    id_ = history.swept(40, deferred=1, failure="killed", expiry=True)
    assert set() == history.pruned()
    assert "deferred deletions" in history.reason(id_)


def test_so_many_of_the_newest_stay(history: History) -> None:
    ids = [history.swept(days) for days in (40, 50, 60)]
    assert {ids[2]} == history.pruned(PruneRule(older_than=30 * DAY, keep=3))
    assert "it is one of the 3 newest of lake" == history.reason(ids[1], PruneRule(older_than=30 * DAY, keep=3))


def test_a_status_can_be_asked_for(history: History) -> None:
    failed, swept = history.swept(50, failure="killed"), history.swept(40)
    rule = PruneRule(older_than=30 * DAY, status=(LiveSetStatus.EXPIRY_FAILED,))
    assert "its status is EXPIRY_SUCCESS" == history.reason(swept, rule)
    assert {failed} == history.pruned(rule)


def test_live_sets_that_were_marked_together_go_together(history: History) -> None:
    first = history.swept(40)
    second = history.swept(40, repository="another", id_=marked_with(first, "another"))
    assert set() == history.pruned()
    assert "it is the newest of another that was completely marked (marked together with 1 more)" == history.reason(
        first
    )
    history.swept(1, repository="another")
    assert {first, second} == history.pruned()


def test_s06_a_sweep_by_which_tags_know_what_is_gone_stays(history: History) -> None:
    shorter = history.swept(40, policies=[NOW.isoformat()])
    same = history.swept(50, policies=[NOW.isoformat()])
    assert {same} == history.pruned()
    assert "'autotag' needs it: no later sweep that is kept covers as much" == history.reason(shorter)


@pytest.mark.parametrize(
    ("later", "earlier", "goes"),
    [
        (("10",), ("10",), True),
        (("10",), ("NONE",), True),
        (("NONE",), ("10",), False),
        (("2026-01-01T00:00:00+00:00",), ("10",), False),
        (("2026-01-02T00:00:00+00:00",), ("2026-01-01T00:00:00+00:00",), True),
        (("2026-01-01T00:00:00+00:00",), ("2026-01-02T00:00:00+00:00",), False),
        (("10", "main=NONE"), ("10",), False),
        (("10", "main=NONE"), ("10", "main=NONE"), True),
        (("10", "main=NONE"), ("10", "main=5"), False),
    ],
)
def test_s06_a_later_sweep_stands_for_an_earlier_one_only_if_it_may_have_taken_as_much(
    later: tuple[str, ...], earlier: tuple[str, ...], goes: bool
) -> None:
    history = History()
    history.swept(1, policies=later)
    id_ = history.swept(40, policies=earlier)
    assert goes == (id_ in history.pruned())


# ---- witnesses ------------------------------------------------------------------------------------------
def test_s20_one_that_is_newer_than_one_that_stays_stays_as_well() -> None:
    """It says what was live after the older one; without it a dropped table would seem to be gone for longer."""
    history = History()
    older, newer = history.swept(50, deferred=1), history.marked(40)
    history.swept(1)
    assert "an older one of its repository stays" in history.reason(newer)
    assert "deferred" in history.reason(older)


def test_an_age_that_is_negative_is_refused(history: History) -> None:
    with pytest.raises(ConfigurationError, match="must not be negative"):
        history.prune(PruneRule(older_than=-DAY))


def dropped_late(lake: MemoryLake, services: LakeServices) -> TableState:
    """A table that was dropped on main 40 days ago, and lived on another branch until two days ago."""
    state = table(lake, "t")
    table(lake, "stays")
    lake.branch("dev", lake.commit("main"))
    lake.commit("main", delete(state.key))
    lake.advance(timedelta(days=40))
    services.mark("1")
    lake.advance(DAY)
    lake.drop("dev")
    services.mark("1")
    lake.advance(DAY)
    return state


@pytest.mark.parametrize("pruned", [False, True])
def test_s20_what_a_pruned_live_set_saw_is_remembered(lake: MemoryLake, services: LakeServices, pruned: bool) -> None:
    state = dropped_late(lake, services)
    if pruned:
        report = prune(services.store, PruneRule(older_than=timedelta(hours=1)), dry_run=False, clock=services.clock)
        assert 1 == len(report.pruned)
    services.collect("1", sweep=SweepParameters(dropped_after=timedelta(days=7)))
    assert state.needed <= lake.paths()


def test_s06_what_a_pruned_live_set_saw_is_left_alone_while_its_repository_cannot_be_read(
    lake: MemoryLake, beside: MemoryLake, services: LakeServices
) -> None:
    table(lake, "around", location="memory://wh/db/around")
    theirs = table(beside, "theirs", location="memory://wh/db/around/inner")
    table(beside, "other")
    together = services.together_with(beside)
    lake.advance(3 * DAY)
    together.mark("1")
    beside.commit("main", delete(theirs.key))
    lake.advance(DAY)
    together.mark("1")
    beside.commit("main", put(theirs.version))
    lake.advance(DAY)
    rule = PruneRule(older_than=timedelta(hours=25))
    assert 2 == len(prune(services.store, rule, dry_run=False, clock=services.clock).pruned)
    beside.faults.references = DOWN
    together.collect("1")
    assert theirs.needed <= lake.paths()
