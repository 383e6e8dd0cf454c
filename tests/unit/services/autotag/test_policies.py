"""Tag policies: how they are written, which are refused, and which tags they come to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.autotag.policies import (
    DEFAULT_POLICIES,
    TagPolicy,
    parse_policies,
    policies_by_branch,
    wanted_tags,
)

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
PLAIN: dict[str, Any] = {"prefix": "date/", "zone": "UTC", "delay": timedelta(0)}


def policies(*texts: str) -> tuple[TagPolicy, ...]:
    return parse_policies(texts, **PLAIN)


def names(*texts: str, at: datetime = NOON) -> list[str]:
    by_branch = policies_by_branch(policies(*texts), ["main"], chosen="main", default="main")
    return sorted(wanted_tags("main", by_branch["main"], at))


def test_the_default_is_25_hours_8_days_6_weeks_13_months_and_3_years() -> None:
    by_branch = policies_by_branch(policies(*DEFAULT_POLICIES), ["main"], chosen="main", default="main")
    wanted = wanted_tags("main", by_branch["main"], NOON)
    counts = {period: sum(period in each.periods for each in wanted.values()) for period in ("hourly", "daily")}
    counts |= {period: sum(period in each.periods for each in wanted.values()) for period in ("weekly", "monthly")}
    counts["yearly"] = sum("yearly" in each.periods for each in wanted.values())
    assert {"hourly": 25, "daily": 8, "weekly": 6, "monthly": 13, "yearly": 3} == counts


def test_a_name_is_the_prefix_and_the_zero_padded_instant() -> None:
    assert ["date/2019_09_07_15_50"] == names("PT10M=1", at=datetime(2019, 9, 7, 15, 53, tzinfo=UTC))


def test_one_instant_is_one_tag_however_many_periods_share_it() -> None:
    new_year = datetime(2024, 1, 1, tzinfo=UTC)  # a Monday
    by_branch = policies_by_branch(policies(*DEFAULT_POLICIES), ["main"], chosen="main", default="main")
    (tag,) = (each for each in wanted_tags("main", by_branch["main"], new_year).values() if each.instant == new_year)
    assert ("hourly", "daily", "weekly", "monthly", "yearly") == tag.periods == tag.is_latest


def test_a_delay_takes_a_later_state_and_makes_the_tag_later() -> None:
    (policy,) = policies("daily=1;delay=PT2H")
    by_branch = policies_by_branch([policy], ["main"], chosen="main", default="main")
    (early,) = wanted_tags("main", by_branch["main"], datetime(2026, 11, 23, 1, 59, tzinfo=UTC)).values()
    (late,) = wanted_tags("main", by_branch["main"], datetime(2026, 11, 23, 2, tzinfo=UTC)).values()
    assert ("date/2026_11_22_00_00", "date/2026_11_23_00_00") == (early.name, late.name)
    assert datetime(2026, 11, 23, 2, tzinfo=UTC) == late.state_at


def test_a_policy_of_its_own_says_everything_in_one_text() -> None:
    (policy,) = policies("daily=30 ; prefix=eod/; time-zone=Europe/Berlin ;delay=PT15M;branch=rel.*")
    assert ("daily", 30, "eod/", "Europe/Berlin", timedelta(minutes=15)) == (
        policy.period.text,
        policy.keep,
        policy.prefix,
        policy.zone.key,
        policy.delay,
    )
    assert policy.branch is not None
    assert "rel.*" == policy.branch.pattern


def test_only_the_default_branch_has_no_part_in_names() -> None:
    found = policies_by_branch(
        policies("daily=1", "hourly=1;branch=dev.*"), ["main", "dev", "dev/a", "other"], chosen="main", default="main"
    )
    assert {"main": "date/", "dev": "date/dev/", "dev/a": "date/dev/a/"} == {
        branch: each[0].prefix for branch, each in found.items()
    }


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["daily=8", "daily=9"], "two tag policies are daily"),
        (["hourly=8", "daily=9;time-zone=Europe/Berlin"], "hourly and daily .* would use one name for two states"),
        (["hourly=8", "daily=9;delay=PT1H"], "different prefixes"),
    ],
)
def test_policies_that_fight_over_a_name_are_refused(texts: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        policies(*texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["daily=1;prefix=date/dev/", "hourly=1;branch=dev"],
        ["daily=1;branch=dev", "hourly=2;branch=d.*;delay=PT1H"],
    ],
)
def test_policies_of_branches_that_fight_over_a_name_are_refused(texts: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="one name for two states"):
        policies_by_branch(policies(*texts), ["main", "dev"], chosen="main", default="main")


def test_two_policies_of_one_period_are_refused_for_a_branch_that_both_are_about() -> None:
    with pytest.raises(ConfigurationError, match="two tag policies are daily for the branch 'dev'"):
        policies_by_branch(
            policies("daily=1;branch=dev", "daily=2;branch=d.*"), ["main", "dev"], chosen="main", default="main"
        )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("daily", "KEEP is a number"),
        ("daily=-3", "KEEP is a number"),
        ("daily=1000000", "KEEP is a number"),
        ("=3", "the period ''"),
        ("daily=3;zone=UTC", "'zone=UTC' is not valid"),
        ("daily=3;prefix=", "'prefix=' is not valid"),
        ("daily=3;prefix=a;prefix=b", "'prefix=b' is not valid"),
        ("daily=3;prefix=2/", "'2/' is not valid: start with a letter"),
        ("daily=3;prefix=a..b/", "is not valid: start with a letter"),
        ("daily=3;prefix=a b", "is not valid: start with a letter"),
        ("daily=3;time-zone=Mars/Olympus", "'Mars/Olympus' is not a time zone"),
        ("daily=3;time-zone=../../etc/passwd", "is not a time zone"),
        ("daily=3;delay=-PT1H", "negative"),
        ("daily=3;delay=soon", "'soon' is not a duration"),
        ("daily=3;branch=(", "not a valid regular expression"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_that_names_it(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said.replace("(", r"\(")) as caught:
        policies(text)
    assert len(str(caught.value).splitlines()) == 1
