"""The collector against the oracle, over random histories."""

from __future__ import annotations

from datetime import timedelta

import pytest
from collecting import in_memory
from histories import lakes, lakes_together, policies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nessie_gc_memory import MemoryLake
from oracle import deletable, dropped_places, homes, live_versions
from thoroughness import examples

from nessie_gc_core.errors import ServiceUnavailableError
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.parameters import SweepParameters

slow = settings(max_examples=examples(16), deadline=None, suppress_health_check=[HealthCheck.too_slow])
DAY = timedelta(days=1)


@given(lakes(), policies, st.lists(policies.map(lambda policy: f"r.*={policy}"), max_size=1))
@slow
def test_exactly_what_the_oracle_allows_is_deleted(lake: MemoryLake, policy: str, cutoffs: list[str]) -> None:
    services = in_memory(lake)
    parsed = ReferencePolicies.parse(policy, cutoffs, reference_time=lake.time)
    before = lake.paths()
    expected = deletable(lake, services.repository, policies=parsed, newest=lake.time - DAY)
    needed = lake.needed_files(live_versions(services.repository, parsed).values())

    with services.engine:
        report = services.collect(policy, *cutoffs)

    assert expected == before - lake.paths()
    assert needed <= lake.paths()
    assert report.outcomes[Outcome.DELETED].files == len(expected)
    assert (report.unknown, report.lost.files, report.exit_code) == ({}, 0, 0)


@given(lakes_together(), policies)
@slow
def test_s01_of_two_repositories_exactly_what_neither_needs_is_deleted(
    both: tuple[MemoryLake, MemoryLake], policy: str
) -> None:
    lake, beside = both
    services = in_memory(lake).together_with(beside)
    repositories = (services.repository, *services.others)
    parsed = ReferencePolicies.parse(policy, reference_time=lake.time)
    before = lake.paths()
    expected = deletable(lake, *repositories, policies=parsed, newest=lake.time - DAY)
    needed = lake.needed_files(version for each in repositories for version in live_versions(each, parsed).values())

    with services.engine:
        report = services.collect(policy)
        again = services.collect(policy)

    assert expected == before - lake.paths()
    assert needed <= lake.paths()
    assert report.outcomes[Outcome.DELETED].files == len(expected)
    assert (report.unknown, report.lost.files, report.exit_code) == ({}, 0, 0)
    assert (again.unknown, again.outcomes[Outcome.DELETED].files) == ({}, 0)


@given(lakes_together(), policies)
@slow
def test_s06_beside_a_repository_that_cannot_be_read_all_that_it_had_stays(
    both: tuple[MemoryLake, MemoryLake], policy: str
) -> None:
    lake, beside = both
    services = in_memory(lake).together_with(beside)
    repositories = (services.repository, *services.others)
    parsed = ReferencePolicies.parse(policy, reference_time=lake.time)
    before = lake.paths()
    theirs = list(live_versions(services.others[0], parsed).values())
    places = tuple(home.rstrip("/") + "/" for version in theirs for home in homes(lake, version))
    garbage = deletable(lake, *repositories, policies=parsed, newest=lake.time - DAY)

    with services.engine:
        services.mark(policy)
        beside.faults.references = ServiceUnavailableError("nobody answers")
        report = services.collect(policy)

    gone = before - lake.paths()
    assert gone <= garbage
    assert [] == [path for path in gone if path.startswith(places)]
    assert report.exit_code == 1


@given(lakes(), policies, st.sampled_from([timedelta(0), timedelta(hours=1), 3 * DAY]))
@slow
def test_s20_nothing_goes_but_garbage_and_what_was_dropped_for_long_enough(
    lake: MemoryLake, policy: str, after: timedelta
) -> None:
    services = in_memory(lake)
    parsed = ReferencePolicies.parse(policy, reference_time=lake.time)
    before = lake.paths()
    garbage = deletable(lake, services.repository, policies=parsed, newest=lake.time - DAY)
    needed = lake.needed_files(live_versions(services.repository, parsed).values())
    places = dropped_places(lake, services.repository, parsed, changed_before=lake.time - after)

    with services.engine:
        reports = [services.collect(policy, sweep=SweepParameters(dropped_after=after))]
        left = garbage & lake.paths()
        reports.append(services.collect(policy, sweep=SweepParameters(dropped_after=after)))

    gone = before - lake.paths()
    assert [] == [path for path in left if "/metadata/" not in path]  # what alone shows a dropped table goes last
    assert garbage <= gone
    assert needed <= lake.paths()
    assert [] == [path for path in gone - garbage if not path.startswith(tuple(places))]
    for report in reports:
        assert (report.unknown, report.lost.files, report.exit_code) == ({}, 0, 0)


@given(lakes(), policies)
@slow
def test_a_second_run_deletes_nothing(lake: MemoryLake, policy: str) -> None:
    services = in_memory(lake)
    with services.engine:
        services.collect(policy)
        again = services.collect(policy)
    assert (again.outcomes[Outcome.DELETED].files, again.unknown) == (0, {})


@given(lakes(), policies)
@slow
def test_s21_a_dry_run_names_what_the_real_run_deletes(lake: MemoryLake, policy: str) -> None:
    services = in_memory(lake)
    before = lake.paths()
    with services.engine:
        dry = services.collect(policy, sweep=SweepParameters(dry_run=True))
        assert before == lake.paths()
        real = services.collect(policy)
    assert dry.outcomes[Outcome.WOULD_DELETE] == real.outcomes[Outcome.DELETED]
    assert dry.unreferenced == real.unreferenced


@given(lakes(), policies, st.sampled_from([0.5, 0.01]))
@slow
def test_s11_a_bloom_filter_deletes_no_more_than_the_exact_join(
    lake: MemoryLake, policy: str, false_positive_rate: float
) -> None:
    services = in_memory(lake)
    parsed = ReferencePolicies.parse(policy, reference_time=lake.time)
    allowed = deletable(lake, services.repository, policies=parsed, newest=lake.time - DAY)
    before = lake.paths()
    sweep = SweepParameters(membership=Membership.BLOOM, expected_file_count=1, fpp=false_positive_rate)
    with services.engine:
        services.collect(policy, sweep=sweep)
    assert before - lake.paths() <= allowed


@given(lakes(), policies)
@slow
def test_a_report_adds_up(lake: MemoryLake, policy: str) -> None:
    services = in_memory(lake)
    with services.engine:
        report = services.collect(policy).to_dict()
    outcomes = ("deleted", "already_gone", "failed", "spared", "too_young", "deferred", "would_delete")
    for unit in ("files", "bytes"):
        assert report["unreferenced"][unit] == sum(report[outcome][unit] for outcome in outcomes)


@pytest.fixture(autouse=True)
def _forget_lakes() -> None:
    MemoryLake._lakes.clear()
