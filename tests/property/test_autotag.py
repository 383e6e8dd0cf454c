"""A year of auto-tagging, hour by hour, beside a model that knows nothing of its code."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from tagged_lakes import TaggedLake, tagged_lake
from thoroughness import THOROUGH

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
KEPT = {"hourly": 25, "daily": 8, "weekly": 6, "monthly": 13, "yearly": 3}
YEAR = 24 * 365


def begins(period: str, hour: datetime) -> bool:
    """Whether a full hour begins a period."""
    midnight = hour.hour == 0
    return {
        "hourly": True,
        "daily": midnight,
        "weekly": midnight and hour.isoweekday() == 1,
        "monthly": midnight and hour.day == 1,
        "yearly": midnight and (hour.month, hour.day) == (1, 1),
    }[period]


class Model:
    """Which tags there should be: since the first run those of every period, as long as it keeps them."""

    def __init__(self, first: datetime) -> None:
        begin = first.replace(minute=0) - 367 * DAY
        all_hours = [begin + number * HOUR for number in range(24 * 368 + YEAR)]
        found = {period: [hour for hour in all_hours if begins(period, hour)] for period in KEPT}
        last = {period: bisect_right(hours, first) - 1 for period, hours in found.items()}
        self.roll_overs = {period: hours[last[period] :] for period, hours in found.items()}

    def tags(self, now: datetime, commits: list[tuple[datetime, str]]) -> dict[str, str]:
        found: dict[str, str] = {}
        for period, keep in KEPT.items():
            past = self.roll_overs[period][: bisect_right(self.roll_overs[period], now)]
            for instant in past[-keep:]:
                number = bisect_right(commits, (instant, "z"))
                if number:
                    found[instant.strftime("date/%Y_%m_%d_%H_%M")] = commits[number - 1][1]
        return found


def hours(chance: random.Random, first: datetime) -> Iterator[datetime]:
    """When it runs: some minutes after most hours, and not at all in a few nights, days and weeks."""
    now, until = first, first + YEAR * HOUR
    while now < until:
        yield now
        down = chance.choices([0, 9, 40, 24 * 16], weights=[2000, 6, 2, 1])[0]
        now = (now + (1 + down) * HOUR).replace(minute=chance.randrange(60))


@pytest.mark.parametrize("seed", range(20 if THOROUGH else 1))
def test_a_year_has_at_every_hour_the_tags_of_the_model(seed: int) -> None:
    chance = random.Random(seed)
    first = datetime(2026, 3, 17, 10, 25, tzinfo=UTC) + chance.randrange(300) * DAY
    with tagged_lake() as lake:
        model = Model(first)
        _commit_until(lake, chance, first, since=first - chance.randrange(1, 200) * DAY)
        before = first
        for now in hours(chance, first):
            _commit_until(lake, chance, now, since=before)
            before = now
            report = lake.run(now)
            assert (0, model.tags(now, lake.commits)) == (report.exit_code, lake.tags), f"at {now}"


def _commit_until(lake: TaggedLake, chance: random.Random, until: datetime, *, since: datetime) -> None:
    """Commits at random times, some of them exactly at a full hour, others far apart."""
    time = since
    while True:
        time += timedelta(minutes=chance.choice([1, 20, 60, 600, 4000]))
        full = time.replace(minute=0)
        time = full if chance.random() < 0.1 and full > max([since, *(at for at, _ in lake.commits[-1:])]) else time
        if time > until:
            break
        lake.commit(time)
    if not lake.commits:
        lake.commit(until)
