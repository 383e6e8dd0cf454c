from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

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
        ("P2W", Reach(since=NOW - timedelta(days=14))),
        ("+P1D", Reach(since=NOW - timedelta(days=1))),
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
        *("PT-2H", "P-1D", "--P1D", "P1DT", "P0Y", "P0M", "P1Y2D", "P1.5D", "PT0,5H", "P1D12H", "P1H", "PT1D"),
        *("P20260131T000000", "P2026-01-31T00:00:00", "P٣D", "P1D2"),
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


_UNITS = {"W": (7 * 86400, 10**4), "D": (86400, 10**5), "H": (3600, 10**6), "M": (60, 10**7), "S": (1, 10**9)}
"""The seconds of each unit, and the most of it that a text here has."""


@st.composite
def durations(draw: st.DrawFn) -> tuple[str, Fraction]:
    """The text of an ISO duration, and its length in seconds by the definition of the units."""
    texts, length = {}, Fraction(0)
    for unit in draw(st.sets(st.sampled_from("WDHMS"), min_size=1)):
        seconds, most = _UNITS[unit]
        texts[unit] = str(draw(st.integers(0, most)))
        if unit == "S":
            texts[unit] += draw(st.from_regex(r"([.,][0-9]{1,9})?", fullmatch=True))
        length += Fraction(texts[unit].replace(",", ".")) * seconds
    time = "".join(texts[unit] + unit for unit in "HMS" if unit in texts)
    text = "P" + "".join(texts[unit] + unit for unit in "WD" if unit in texts) + ("T" + time if time else "")
    sign = draw(st.sampled_from(["", "+", "-"]))
    return draw(st.sampled_from([str.upper, str.lower]))(sign + text), -length if sign == "-" else length


def _seconds(duration: timedelta) -> Fraction:
    return Fraction(duration // timedelta.resolution, 10**6)


@given(durations())
def test_a_duration_is_as_long_as_its_units_say(duration: tuple[str, Fraction]) -> None:
    text, length = duration
    if (length * 10**6).denominator == 1:
        assert length == _seconds(parse_duration(text))
    else:
        assert abs(length - _seconds(parse_duration(text))) < Fraction(1, 10**6)


@given(durations())
def test_a_cut_off_keeps_no_less_than_its_duration_says(duration: tuple[str, Fraction]) -> None:
    text, length = duration
    since = parse(text).reach.since
    assert since is not None
    assert _seconds(NOW - since) > length - Fraction(1, 10**6)


@given(st.text("0123456789PYMWDTHS.,+-: ", max_size=16).map(lambda text: f"P{text}"))
def test_a_text_that_is_read_as_a_duration_names_weeks_days_and_times_only(text: str) -> None:
    try:
        parse_duration(text)
    except ConfigurationError as error:
        assert "\n" not in str(error)
    else:
        shape = r"P(?=\d|T\d)(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?"
        assert re.fullmatch(shape, text.strip()) is not None


@pytest.mark.parametrize("text", ["P1M", "1D", "", "PT"])
def test_a_duration_without_a_fixed_length_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a duration"):
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
