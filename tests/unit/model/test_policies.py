from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.policies import CutoffPolicy, Reach, ReferencePolicies, parse_duration, parse_instant

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
zones = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1), timezones=zones)


def parse(text: str) -> CutoffPolicy:
    return CutoffPolicy.parse(text, reference_time=NOW)


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("NONE", Reach(everything=True)),
        (" none ", Reach(everything=True)),
        ("42", Reach(commits=42)),
        ("1", Reach(commits=1)),
        ("0", Reach(commits=1)),
        ("-3", Reach(commits=1)),
        ("PT2H", Reach(since=NOW - timedelta(hours=2))),
        ("p10d", Reach(since=NOW - timedelta(days=10))),
        ("P1DT12H30M1.5S", Reach(since=NOW - timedelta(days=1, hours=12, minutes=30, seconds=1.5))),
        ("PT1,5S", Reach(since=NOW - timedelta(seconds=1.5))),
        ("-PT2H", Reach(since=NOW + timedelta(hours=2))),
        ("PT-2H", Reach(since=NOW + timedelta(hours=2))),
        ("2026-01-31T00:00:00Z", Reach(since=datetime(2026, 1, 31, tzinfo=UTC))),
        ("2026-01-31T09:00:00+09:00", Reach(since=datetime(2026, 1, 31, tzinfo=UTC))),
    ],
)
def test_every_form_of_a_policy_is_read(text: str, reach: Reach) -> None:
    assert reach == parse(text).reach


@pytest.mark.parametrize(
    "text",
    [
        *("", "all", "P", "PT", "P1M", "P1Y", "1.5", "2026-01-31", "2026-01-31T00:00:00", "10d", "99999999999", "--1"),
        *("0001-01-01T00:00:00+14:00", "9" * 5000, f"P{'9' * 5000}D"),
    ],
    ids=lambda text: text[:25],
)
def test_anything_else_is_refused_and_the_accepted_forms_are_said(text: str) -> None:
    with pytest.raises(ConfigurationError, match="NONE, a number of commits, an ISO duration"):
        parse(text)


def test_a_duration_that_leaves_the_calendar_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="calendar"):
        parse("P999999D")


@given(
    st.one_of(
        st.just("NONE"),
        st.integers(-(2**31), 2**31 - 1).map(str),
        st.integers(0, 10**6).map(lambda seconds: f"PT{seconds}S"),
        instants.map(lambda instant: instant.isoformat()),
    )
)
def test_the_text_of_a_policy_gives_an_equal_policy_back(text: str) -> None:
    policy = parse(text)
    assert policy.reach == CutoffPolicy.parse(policy.text, reference_time=NOW + timedelta(days=77)).reach
    assert policy.text == CutoffPolicy.parse(policy.text, reference_time=NOW).text


@given(instants)
def test_an_instant_keeps_its_microseconds_in_any_zone(instant: datetime) -> None:
    assert instant == parse_instant(instant.isoformat())
    assert UTC is parse_instant(instant.isoformat()).tzinfo


@given(st.timedeltas(timedelta(0), timedelta(days=1000)).map(lambda d: timedelta(days=d.days, seconds=d.seconds)))
def test_durations_are_read_back(duration: timedelta) -> None:
    assert duration == parse_duration(f"P{duration.days}DT{duration.seconds}S")


@pytest.mark.parametrize("text", ["P1M", "1D", "", "PT"])
def test_a_duration_without_a_fixed_length_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="no duration"):
        parse_duration(text)


reaches = st.builds(
    Reach,
    everything=st.booleans(),
    since=st.one_of(st.none(), st.integers(-50, 50).map(lambda hours: NOW + timedelta(hours=hours))),
    commits=st.integers(-1, 6),
)


@given(reaches, reaches)
def test_a_merged_reach_covers_both(one: Reach, other: Reach) -> None:
    assert one.merge(other).covers(one)
    assert one.merge(other).covers(other)


@given(reaches, reaches, st.lists(st.integers(-50, 50), max_size=8))
def test_what_covers_another_reach_walks_at_least_as_far(one: Reach, other: Reach, hours: list[int]) -> None:
    def length(reach: Reach) -> int:
        for number, hour in enumerate(hours):
            reach = reach.at(NOW + timedelta(hours=hour))
            if reach.is_empty:
                return number
            reach = reach.below()
        return len(hours)

    if one.covers(other):
        assert length(one) >= length(other)
    assert length(one.merge(other)) == max(length(one), length(other))


def test_the_same_pattern_twice_keeps_its_place_and_takes_the_last_value() -> None:
    policies = ReferencePolicies.parse("1", ["main=2,x.*=3", "main=4"], reference_time=NOW)
    assert ("1", "main=4", "x.*=3") == policies.to_texts()


def test_recorded_policies_come_first() -> None:
    policies = ReferencePolicies.from_texts(["1", "main=4"], {"main": "NONE"})
    assert ["NONE", "1"] == [policies.for_reference(name).text for name in ("main", "dev")]


@pytest.mark.parametrize(
    ("cutoff", "named"), [("main", "REFERENCE-PATTERN=POLICY"), ("=1", "=1"), ("(=1", "regular"), ("a=soon", "soon")]
)
def test_a_wrong_cutoff_is_named(cutoff: str, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        ReferencePolicies.parse("1", [cutoff], reference_time=NOW)


@given(
    st.sampled_from(["NONE", "7", "P3D"]), st.dictionaries(st.sampled_from(["main", "a/.*", "b|c"]), st.just("PT5H"))
)
def test_policies_survive_being_recorded(default: str, cutoffs: dict[str, str]) -> None:
    policies = ReferencePolicies.parse(default, [f"{k}={v}" for k, v in cutoffs.items()], reference_time=NOW)
    again = ReferencePolicies.from_texts(policies.to_texts(), {})
    for name in ("main", "a/b", "b", "c", "other"):
        assert policies.for_reference(name) == again.for_reference(name)
