"""Auto-tagging of a repository: what is made, what goes, and what is left to whoever it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from nessie_gc_memory import MemoryRepository
from tagged_lakes import BEGIN, TaggedLake, outcomes, tagged_lake

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import (
    AccessDeniedError,
    CommitUnknownError,
    ConfigurationError,
    LeaseHeldError,
    ServiceUnavailableError,
)
from nessie_gc_core.services.autotag.report import TagOutcome
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.records import RecordsService

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURLY = {"tag_policy": ("hourly=3",)}


@pytest.fixture
def lake() -> Iterator[TaggedLake]:
    with tagged_lake() as lake:
        yield lake


@pytest.fixture
def hourly(lake: TaggedLake) -> TaggedLake:
    """Tagged at 12:10, of a state of 11:50, which is followed by one of 12:05."""
    lake.commit(BEGIN - 20 * timedelta(minutes=1))
    lake.commit(BEGIN - 5 * timedelta(minutes=1))
    assert {"date/2026_05_04_12_00": TagOutcome.MADE} == outcomes(lake.run(BEGIN, **HOURLY))
    return lake


def first(lake: TaggedLake) -> str:
    return lake.commits[0][1]


def last(lake: TaggedLake) -> str:
    return lake.commits[-1][1]


def test_a_tag_shows_the_state_at_the_roll_over_not_that_of_now(hourly: TaggedLake) -> None:
    assert {"date/2026_05_04_12_00": first(hourly)} == hourly.tags


def test_a_second_run_changes_nothing(hourly: TaggedLake) -> None:
    before = (hourly.tags, hourly.records)
    report = hourly.run(BEGIN + timedelta(minutes=40), **HOURLY)
    assert ([], 1) == (report.tags, report.kept)
    assert before == (hourly.tags, hourly.records)


def test_the_first_run_makes_the_latest_tag_of_each_period_and_none_of_the_past(lake: TaggedLake) -> None:
    lake.commit(BEGIN - 400 * DAY)
    lake.run(BEGIN)
    expected = ["2026_01_01_00_00", "2026_05_01_00_00", "2026_05_04_00_00", "2026_05_04_12_00"]
    assert [f"date/{digits}" for digits in expected] == sorted(lake.tags)


def test_what_was_missed_while_nothing_ran_is_made_of_the_states_of_then(hourly: TaggedLake) -> None:
    second = hourly.commit(BEGIN + HOUR)
    hourly.commit(BEGIN + HOUR + timedelta(minutes=55))
    report = hourly.run(BEGIN + 2 * HOUR, **HOURLY)
    assert ["date/2026_05_04_13_00", "date/2026_05_04_14_00"] == [tag.name for tag in report.tags]
    assert hourly.commits[1][1] == hourly.tags["date/2026_05_04_13_00"]
    assert second == hourly.tags["date/2026_05_04_14_00"]


def test_a_tag_goes_when_its_policy_rolls_over(hourly: TaggedLake) -> None:
    hourly.run(BEGIN + 2 * HOUR, **HOURLY)
    report = hourly.run(BEGIN + 3 * HOUR, **HOURLY)
    assert {"date/2026_05_04_15_00": TagOutcome.MADE, "date/2026_05_04_12_00": TagOutcome.DELETED} == outcomes(report)
    assert [f"date/2026_05_04_{hour}_00" for hour in (13, 14, 15)] == sorted(hourly.tags) == sorted(hourly.records)


def test_a_policy_that_keeps_less_lets_the_rest_go(hourly: TaggedLake) -> None:
    hourly.run(BEGIN + 2 * HOUR, **HOURLY)
    hourly.run(BEGIN + 2 * HOUR, tag_policy=("hourly=1",))
    assert ["date/2026_05_04_14_00"] == sorted(hourly.tags)


def test_a_tag_by_hand_is_never_touched_whatever_its_name(hourly: TaggedLake) -> None:
    mine = ["date/2026_05_04_13_00", "date/2026_05_04_09_00", "date/2020_01_01_00_00", "release"]
    for name in mine:
        hourly.lake.tag(name, first(hourly))
    report = hourly.run(BEGIN + HOUR, **HOURLY)
    assert {"date/2026_05_04_13_00": TagOutcome.LEFT_ALONE} == outcomes(report)
    for hours in range(2, 30):
        hourly.run(BEGIN + hours * HOUR, **HOURLY)
    assert {name: first(hourly) for name in mine} == {name: hourly.tags[name] for name in mine}


def test_a_branch_with_the_name_of_a_tag_is_left_alone(lake: TaggedLake) -> None:
    commit = lake.commit(BEGIN - DAY)
    lake.lake.branch("date/2026_05_04_12_00", commit)
    report = lake.run(BEGIN, **HOURLY)
    assert ({"date/2026_05_04_12_00": TagOutcome.LEFT_ALONE}, {}, 0) == (outcomes(report), lake.tags, report.exit_code)


def test_a_tag_that_somebody_moved_is_theirs(hourly: TaggedLake) -> None:
    hourly.lake.assign("date/2026_05_04_12_00", last(hourly))
    report = hourly.run(BEGIN + 5 * HOUR, **HOURLY)
    assert TagOutcome.LEFT_ALONE is outcomes(report)["date/2026_05_04_12_00"]
    assert last(hourly) == hourly.tags["date/2026_05_04_12_00"]
    assert "date/2026_05_04_12_00" not in hourly.records


def test_a_tag_that_somebody_deleted_is_not_made_again(hourly: TaggedLake) -> None:
    hourly.lake.drop("date/2026_05_04_12_00")
    assert {"date/2026_05_04_12_00": TagOutcome.VANISHED} == outcomes(
        hourly.run(BEGIN + timedelta(minutes=1), **HOURLY)
    )
    assert [] == hourly.run(BEGIN + timedelta(minutes=2), **HOURLY).tags
    hourly.run(BEGIN + 3 * HOUR, **HOURLY)
    assert "date/2026_05_04_12_00" not in {*hourly.tags, *hourly.records}


def test_a_tag_that_somebody_deleted_and_made_again_is_theirs(hourly: TaggedLake) -> None:
    hourly.lake.drop("date/2026_05_04_12_00")
    hourly.run(BEGIN + timedelta(minutes=1), **HOURLY)
    hourly.lake.tag("date/2026_05_04_12_00", first(hourly))
    hourly.run(BEGIN + 30 * HOUR, **HOURLY)
    assert first(hourly) == hourly.tags["date/2026_05_04_12_00"]


def test_two_schedules_with_other_periods_leave_each_others_tags_alone(lake: TaggedLake) -> None:
    lake.commit(BEGIN - 400 * DAY)
    often, rarely = ("hourly=3",), ("daily=4", "yearly=2")
    for hours in range(0, 24 * 9, 3):
        lake.run(BEGIN + hours * HOUR, tag_policy=often)
        report = lake.run(BEGIN + (hours + 1) * HOUR, tag_policy=rarely)
    assert "date/2026_01_01_00_00" in lake.tags
    daily = {f"date/2026_05_{day}_00_00" for day in (10, 11, 12, 13)}
    assert daily <= set(lake.tags)
    assert "date/2026_05_09_00_00" not in lake.tags
    assert 8 == len(lake.tags)
    assert (5, 3) == (report.kept, report.others)


def test_a_period_that_keeps_none_lets_its_tags_go(lake: TaggedLake) -> None:
    lake.commit(BEGIN - 400 * DAY)
    lake.run(BEGIN, tag_policy=("hourly=3", "yearly=1"))
    lake.run(BEGIN, tag_policy=("hourly=3",))
    assert ["date/2026_01_01_00_00", "date/2026_05_04_12_00"] == sorted(lake.tags)
    lake.run(BEGIN, tag_policy=("hourly=3", "yearly=0"))
    assert ["date/2026_05_04_12_00"] == sorted(lake.tags)


@pytest.mark.parametrize("change", [{"tag_time_zone": "Europe/Berlin"}, {"tag_delay": timedelta(minutes=5)}])
def test_a_name_never_changes_what_it_means(hourly: TaggedLake, change: dict[str, Any]) -> None:
    hourly.run(BEGIN + 2 * HOUR, **HOURLY)
    before = (hourly.tags, hourly.records)
    with pytest.raises(ConfigurationError, match="another prefix"):
        hourly.run(BEGIN + 2 * HOUR, **HOURLY, **change)
    assert before == (hourly.tags, hourly.records)
    hourly.run(BEGIN + 2 * HOUR, tag_prefix="other/", **HOURLY, **change)
    assert before[0].items() < hourly.tags.items()


def test_a_dry_run_says_what_would_be_done_and_changes_nothing(hourly: TaggedLake) -> None:
    before = (hourly.tags, hourly.records)
    report = hourly.run(BEGIN, at=BEGIN + 3 * HOUR, dry_run=True, **HOURLY)
    said = {tag.name: (tag.outcome, tag.target) for tag in report.tags}
    assert (TagOutcome.DELETED, first(hourly)) == said.pop("date/2026_05_04_12_00")
    made = {f"date/2026_05_04_{hour}_00": (TagOutcome.MADE, last(hourly)) for hour in (13, 14, 15)}
    assert made == said
    assert before == (hourly.tags, hourly.records)


def test_nothing_is_made_of_a_time_that_is_still_to_come(hourly: TaggedLake) -> None:
    with pytest.raises(ConfigurationError, match=r"`at` .* is in the future"):
        hourly.run(BEGIN, at=BEGIN + HOUR, **HOURLY)
    assert ["date/2026_05_04_12_00"] == list(hourly.tags)


def test_a_time_that_is_past_deletes_no_later_tag(hourly: TaggedLake) -> None:
    hourly.run(BEGIN + 2 * HOUR, **HOURLY)
    before = hourly.tags
    hourly.run(BEGIN + 2 * HOUR, at=BEGIN - 2 * DAY, **HOURLY)
    assert before.items() <= hourly.tags.items()


def test_a_branch_without_a_state_at_the_time_gets_no_tag_and_is_not_asked_again(lake: TaggedLake) -> None:
    lake.commit(BEGIN - timedelta(minutes=5))
    report = lake.run(BEGIN, **HOURLY)
    assert ({"date/2026_05_04_12_00": TagOutcome.NO_STATE}, {}, 0) == (outcomes(report), lake.tags, report.exit_code)
    fetched = lake.lake.counts.entries_fetched
    assert [] == lake.run(BEGIN + timedelta(minutes=1), **HOURLY).tags
    assert fetched == lake.lake.counts.entries_fetched


def test_a_branch_that_is_not_there_is_an_error_that_names_it(hourly: TaggedLake) -> None:
    with pytest.raises(ConfigurationError, match="the branch 'nowhere' does not exist"):
        hourly.run(BEGIN, tag_branch="nowhere")
    with pytest.raises(ConfigurationError, match="the branch 'date/2026_05_04_12_00' does not exist"):
        hourly.run(BEGIN, tag_branch="date/2026_05_04_12_00")


def test_tags_of_a_branch_that_is_gone_stay_as_long_as_their_policy_says(lake: TaggedLake) -> None:
    lake.commit(BEGIN - DAY)
    lake.lake.branch("dev", lake.commits[0][1])
    lake.run(BEGIN, tag_branch="dev", **HOURLY)
    lake.lake.drop("dev")
    report = lake.run(BEGIN + HOUR, tag_branch="dev", **HOURLY)
    assert (["date/dev/2026_05_04_12_00"], []) == (list(lake.tags), report.tags)
    assert "'dev' no longer exists" in report.warnings[0]
    lake.run(BEGIN + 3 * HOUR, tag_branch="dev", **HOURLY)
    assert {} == lake.tags == lake.records


def test_each_branch_and_prefix_is_worked_on_by_itself(hourly: TaggedLake) -> None:
    hourly.lake.branch("dev", first(hourly))
    hourly.run(BEGIN, tag_branch="dev", **HOURLY)
    hourly.run(BEGIN, tag_policy=("daily=1;prefix=eod/",))
    later = BEGIN + 40 * HOUR
    hourly.run(later, tag_policy=("daily=1;prefix=eod/",))
    assert {"date/2026_05_04_12_00", "date/dev/2026_05_04_12_00"} < set(hourly.tags)
    hourly.run(later, **HOURLY)
    assert "date/2026_05_04_12_00" not in hourly.tags
    assert {"date/dev/2026_05_04_12_00", "eod/2026_05_06_00_00"} < set(hourly.tags)


def test_a_chosen_branch_need_not_be_there_where_no_policy_is_about_it(lake: TaggedLake) -> None:
    lake.commit(BEGIN - DAY, branch="dev")
    lake.run(BEGIN, tag_policy=("hourly=1;branch=dev",))
    assert ["date/dev/2026_05_04_12_00"] == list(lake.tags)


def test_a_policy_for_branches_by_pattern_tags_each_of_them(lake: TaggedLake) -> None:
    commit = lake.commit(BEGIN - DAY)
    for name in ("dev", "dev/a", "other"):
        lake.lake.branch(name, commit)
    lake.run(BEGIN, tag_policy=("hourly=1", "daily=1;branch=dev.*"))
    expected = {"date/2026_05_04_12_00", "date/dev/2026_05_04_00_00", "date/dev/a/2026_05_04_00_00"}
    assert expected == set(lake.tags)


# ---- what others do meanwhile -------------------------------------------------------------------------
def with_repository(lake: TaggedLake, **methods: Any) -> TaggedLake:
    """The lake behind a connector of which some methods are others."""
    class_: type[MemoryRepository] = type("Meddled", (MemoryRepository,), methods)
    repository = class_.from_options({"lake": lake.lake.name})
    return TaggedLake(lake.lake, replace(lake.services, repository=repository))


def test_a_name_that_is_taken_while_it_runs_is_left_to_whoever_took_it(hourly: TaggedLake) -> None:
    def make_tag(self: MemoryRepository, name: str, at: Any) -> bool:
        hourly.lake.tag(name, first(hourly))
        return MemoryRepository.make_tag(self, name, at)

    report = with_repository(hourly, make_tag=make_tag).run(BEGIN + HOUR, **HOURLY)
    assert {"date/2026_05_04_13_00": TagOutcome.LEFT_ALONE} == outcomes(report)
    assert "date/2026_05_04_13_00" not in hourly.records
    hourly.run(BEGIN + 30 * HOUR, **HOURLY)
    assert first(hourly) == hourly.tags["date/2026_05_04_13_00"]


def test_two_processes_do_not_tag_at_once(hourly: TaggedLake) -> None:
    identity = hourly.services.repository.identity()
    with (
        hold_lease(hourly.services.store, [f"tags of {identity}"], 30 * HOUR),
        pytest.raises(LeaseHeldError, match="tags of memory:"),
    ):
        hourly.run(BEGIN + HOUR, **HOURLY)
    assert ["date/2026_05_04_12_00"] == list(hourly.tags)


def test_records_do_not_move_while_tags_are_made(hourly: TaggedLake) -> None:
    identity, records = hourly.services.repository.identity(), RecordsService(hourly.services.store)
    with hold_lease(hourly.services.store, [f"tags of {identity}"], HOUR), pytest.raises(LeaseHeldError):
        records.move(identity, "memory:renamed", dry_run=False)
    assert ["date/2026_05_04_12_00"] == list(hourly.records)


def test_many_that_run_at_once_make_each_tag_once(hourly: TaggedLake) -> None:
    def run(number: int) -> bool:
        try:
            hourly.run(BEGIN + HOUR, **HOURLY)
        except LeaseHeldError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert any(pool.map(run, range(8)))
    assert ["date/2026_05_04_12_00", "date/2026_05_04_13_00"] == sorted(hourly.tags) == sorted(hourly.records)


def test_a_collector_at_work_does_not_keep_tags_from_being_made(hourly: TaggedLake) -> None:
    with hold_lease(hourly.services.store, [hourly.services.repository.identity()], 30 * HOUR):
        assert 0 == hourly.run(BEGIN + HOUR, **HOURLY).exit_code


def test_what_the_repository_refuses_is_said_and_tried_again(hourly: TaggedLake) -> None:
    def refuse(self: MemoryRepository, name: str, at: Any) -> bool:
        raise AccessDeniedError("no tags for you; ask somebody")

    report = with_repository(hourly, make_tag=refuse).run(BEGIN + HOUR, **HOURLY)
    assert ({"date/2026_05_04_13_00": TagOutcome.REFUSED}, 1) == (outcomes(report), report.exit_code)
    assert report.tags[0].reason == "no tags for you; ask somebody"
    assert {"date/2026_05_04_13_00": TagOutcome.MADE} == outcomes(hourly.run(BEGIN + HOUR, **HOURLY))


def test_a_log_that_cannot_be_read_makes_nothing_and_the_rest_goes_on(hourly: TaggedLake) -> None:
    hourly.run(BEGIN + 2 * HOUR, **HOURLY)
    hourly.lake.faults.log[last(hourly)] = ServiceUnavailableError("down; try again")
    report = hourly.run(BEGIN + 3 * HOUR, **HOURLY)
    assert {"": TagOutcome.REFUSED, "date/2026_05_04_12_00": TagOutcome.DELETED} == outcomes(report)
    assert 1 == report.exit_code
    hourly.lake.faults.log.clear()
    assert {"date/2026_05_04_15_00": TagOutcome.MADE} == outcomes(hourly.run(BEGIN + 3 * HOUR, **HOURLY))


# ---- outcomes that nobody knows (S19) -----------------------------------------------------------------
def lost(method: Any, *, done: bool) -> Any:
    """A method whose answer is lost, after or before it is done."""

    def call(self: MemoryRepository, *arguments: Any) -> bool:
        if done:
            method(self, *arguments)
        raise CommitUnknownError("no answer")

    return call


def test_s19_a_tag_whose_answer_was_lost_and_that_is_there_is_in_doubt_until_somebody_adopts_it(
    hourly: TaggedLake,
) -> None:
    losing = with_repository(hourly, make_tag=lost(MemoryRepository.make_tag, done=True))
    report = losing.run(BEGIN + HOUR, **HOURLY)
    assert ({"date/2026_05_04_13_00": TagOutcome.UNKNOWN}, 1) == (outcomes(report), report.exit_code)
    report = hourly.run(BEGIN + HOUR, **HOURLY)
    assert ({"date/2026_05_04_13_00": TagOutcome.IN_DOUBT}, 0) == (outcomes(report), report.exit_code)
    assert [] == hourly.run(BEGIN + HOUR, adopt=True, **HOURLY).tags
    hourly.run(BEGIN + 30 * HOUR, **HOURLY)
    assert "date/2026_05_04_13_00" not in hourly.tags


def test_s19_what_somebody_else_made_while_an_answer_was_lost_stays(hourly: TaggedLake) -> None:
    def make_tag(self: MemoryRepository, name: str, at: Any) -> bool:
        hourly.lake.tag(name, str(at.commit_id))
        raise CommitUnknownError("no answer")

    with_repository(hourly, make_tag=make_tag).run(BEGIN + HOUR, **HOURLY)
    hourly.run(BEGIN + 30 * HOUR, **HOURLY)
    assert "date/2026_05_04_13_00" in hourly.tags


def test_s19_a_tag_of_which_nobody_knows_is_made_by_the_next_run(hourly: TaggedLake) -> None:
    losing = with_repository(hourly, make_tag=lost(MemoryRepository.make_tag, done=False))
    report = losing.run(BEGIN + HOUR, **HOURLY)
    assert ({"date/2026_05_04_13_00": TagOutcome.UNKNOWN}, 1) == (outcomes(report), report.exit_code)
    assert {"date/2026_05_04_13_00": TagOutcome.MADE} == outcomes(hourly.run(BEGIN + HOUR, **HOURLY))


def test_s19_a_deletion_of_which_nobody_knows_is_looked_at_by_the_next_run(hourly: TaggedLake) -> None:
    losing = with_repository(hourly, delete_tag=lost(MemoryRepository.delete_tag, done=False))
    report = losing.run(BEGIN + 30 * HOUR, **HOURLY)
    assert TagOutcome.UNKNOWN is outcomes(report)["date/2026_05_04_12_00"]
    report = hourly.run(BEGIN + 30 * HOUR, **HOURLY)
    assert {"date/2026_05_04_12_00": TagOutcome.DELETED} == outcomes(report)


def test_s19_a_tag_that_may_be_ours_or_not_stays_and_is_named(hourly: TaggedLake) -> None:
    """A run was killed after it asked for a tag, and before it knew; the tag is there, and anybody may have made it."""

    def killed(self: MemoryRepository, name: str, at: Any) -> bool:
        MemoryRepository.make_tag(self, name, at)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_repository(hourly, make_tag=killed).run(BEGIN + HOUR, **HOURLY)
    for hours in (1, 2, 30):
        report = hourly.run(BEGIN + hours * HOUR, **HOURLY)
    assert TagOutcome.IN_DOUBT is outcomes(report)["date/2026_05_04_13_00"]
    assert "date/2026_05_04_13_00" in hourly.tags
    hourly.lake.drop("date/2026_05_04_13_00")
    hourly.run(BEGIN + 30 * HOUR, **HOURLY)
    assert "date/2026_05_04_13_00" not in hourly.records


# ---- what it needs ------------------------------------------------------------------------------------
def test_a_store_that_remembers_no_tags_is_refused(hourly: TaggedLake) -> None:
    class Forgetful:
        name = "forgetful"

        def __init__(self, store: LiveSetStore) -> None:
            self.live_sets = store.live_sets

    services = replace(hourly.services, store=Forgetful(hourly.services.store))  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="'forgetful' does not record which tags were created"):
        TaggedLake(hourly.lake, services).run(BEGIN, **HOURLY)


def test_what_is_given_and_has_no_meaning_is_pointed_out(hourly: TaggedLake) -> None:
    report = hourly.run(BEGIN, include=("db[.].*",), tag_policy=("hourly=3", "daily=1;branch=nosuch.*"))
    tables, branch = report.warnings
    assert tables.startswith("`include` and `exclude` choose tables")
    assert "the branch 'nosuch.*' of a tag policy matches no branch" == branch


def test_records_under_a_former_identity_are_pointed_out(hourly: TaggedLake) -> None:
    former = hourly.services.repository.identity()
    renamed = with_repository(hourly, identity=lambda self: "memory:renamed", former_identities=lambda self: [former])
    report = renamed.run(BEGIN + HOUR, dry_run=True, **HOURLY)
    assert "the store remembers 1 tag of this repository under its former identity" in report.warnings[0]
