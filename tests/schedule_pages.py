"""A schedule with a year of runs, and the screenshots of its page for the documentation.

``python tests/schedule_pages.py`` takes them again.
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID
from zoneinfo import ZoneInfo

from browsing import browser
from nessie_gc_memory import MemoryScheduleStore

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.quarantine import HeldState, Quarantine
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus, ScheduledJob
from nessie_gc_core.services.assets.page.counting import by_sightings
from nessie_gc_core.services.assets.page.figures import AssetFigures, Group, Grouping, LatestRun, Threshold
from nessie_gc_core.services.assets.page.service import AssetPageReport
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.page.figures import figures_of
from nessie_gc_core.services.schedule.page.render import render_schedule
from nessie_gc_core.services.schedule.tables import tables_of

NOW = datetime(2026, 3, 2, 9, 12, tzinfo=UTC)
IMAGES = Path(__file__).parents[1] / "docs" / "images"
_ZONE = ZoneInfo("Europe/Berlin")
_DAY, _HOUR = timedelta(days=1), timedelta(hours=1)
_LEASE = timedelta(hours=1)
_GB = 2**30
_TABLES = {
    "sales.orders": 40,
    "sales.order_lines": 25,
    "events.clicks": 18,
    "events.page_views_of_all_shops": 12,
    "stock.levels": 6,
    "stock.movements": 4,
    "finance.ledger": 2,
}
"""Of each table how many gigabytes of garbage a day makes at most."""


@dataclass(kw_only=True)
class _Sample:
    """A schedule that is filled, run by run; all that varies comes from a seed."""

    store: ScheduleStore = field(default_factory=lambda: MemoryScheduleStore.from_options({}))
    chance: random.Random = field(default_factory=lambda: random.Random(7))

    def run(self, job: ScheduledJob, at: datetime, outcome: Outcome, minutes: float = 2) -> None:
        """A run that ended."""
        assert job.next is not None
        occasion = Occasion(due=at, starts=at)
        self.store.set_next("lake", job.name, seen=self._next(job), then=occasion)
        run = JobRun(
            id=UUID(int=self.chance.getrandbits(128)),
            job=job.name,
            service=job.service,
            occasion=occasion,
            status=RunStatus.RUNNING,
            started=at + timedelta(seconds=self.chance.randrange(50)),
        )
        assert self.store.start_run("lake", run, then=job.next, lease=_LEASE)
        ended = outcome.finished(run, run.started + timedelta(minutes=minutes))
        assert self.store.finish_run("lake", ended, tables=tables_of(outcome.report))

    def _next(self, job: ScheduledJob) -> Occasion | None:
        return next(each.next for each in self.store.jobs("lake") if each.name == job.name)


def a_year(days: int = 365, jobs: int = 0) -> ScheduleStore:
    """A schedule ``lake`` with runs of so many days, and so many more jobs that never ran."""
    sample = _Sample()
    collect, health, assets, tags, prune = known = [
        _job("collect", "gc", "30 2 * * * (at 02:30 every day, Europe/Berlin)", timedelta(hours=16, minutes=18)),
        _job("health", "health", "every PT1H", timedelta(minutes=48)),
        _job("assets", "report", "0 6 * * * (at 06:00 every day, Europe/Berlin)", timedelta(hours=19, minutes=48)),
        _job("tags", "autotag", "@hourly", timedelta(minutes=48)),
        _job("prune", "prune", "@weekly", timedelta(days=5, hours=14, minutes=48)),
    ]
    more = [_job(f"compact-{number:03}", "compact", "every PT30M", _HOUR) for number in range(jobs)]
    sample.store.define_jobs("lake", [*known, *more])
    garbage = dict.fromkeys(_TABLES, 0)
    for ago in reversed(range(days)):
        day = NOW.replace(hour=0, minute=0) - ago * _DAY
        for name, most in _TABLES.items():
            season = 1.2 + math.sin(ago / 20)
            garbage[name] += int(_GB * most * season * sample.chance.random() / 2)
        deleted = _collected(sample, collect, day, garbage, failed=ago % 11 == 4)
        for name, size in deleted.items():
            garbage[name] -= size
        sample.run(assets, day + 5 * _HOUR, _assets(sum(garbage.values())))
        for hour in (6, 7, 8):
            sample.run(health, day + hour * _HOUR, _health(garbage))
            sample.run(tags, day + hour * _HOUR, Outcome(exit_code=0, report='{"tables": 7}'), 0.2)
        if ago % 7 == 1:
            sample.run(prune, day, Outcome(exit_code=0, report='{"pruned": []}'), 0.1)
    return sample.store


def quarantines() -> Sequence[Quarantine]:
    """What is in quarantine."""
    places = {"s3://lake/quarantine/2026-02-27/": 3, "s3://lake/quarantine/2026-03-01/": 6}
    return [
        Quarantine(
            repository="r",
            live_set_id=UUID(int=days),
            place=place,
            state=HeldState.HELD,
            until=NOW.replace(hour=2, minute=30) + days * _DAY,
            files=1807 * days,
            bytes=3 * _GB * days,
        )
        for place, days in places.items()
    ]


def page(store: ScheduleStore, days: int = 30) -> str:
    """The page of the schedule ``lake``."""
    return render_schedule(figures_of(store, "lake", now=NOW, days=days, quarantines=quarantines()), _ZONE)


def _job(name: str, service: str, timing: str, wait: timedelta) -> ScheduledJob:
    due = NOW + wait
    return ScheduledJob(name=name, service=service, timing=timing, definition="", next=Occasion(due=due, starts=due))


def _collected(
    sample: _Sample, job: ScheduledJob, day: datetime, garbage: dict[str, int], *, failed: bool
) -> dict[str, int]:
    """A collection; what it deleted."""
    at = day + 90 * timedelta(minutes=1)
    if failed:
        error = "the repository http://nessie:19120/api/v2 does not answer: connection refused; is the server running?"
        sample.run(job, at, Outcome(exit_code=1, report=json.dumps({"error": error})), 5)
        return dict.fromkeys(garbage, 0)
    deleted = {name: int(size * (0.5 + sample.chance.random() / 2)) for name, size in garbage.items()}
    tables = [
        {"tables": [name], "unreferenced": {"bytes": size}, "deleted": {"bytes": deleted[name]}}
        for name, size in garbage.items()
    ]
    report = {"deleted": {"files": 100, "bytes": sum(deleted.values())}, "tables": tables}
    sample.run(job, at, Outcome(exit_code=0, report=json.dumps(report)), 40 + 30 * sample.chance.random())
    return deleted


def _health(garbage: dict[str, int]) -> Outcome:
    tables = [{"table": name, "reclaimable_bytes": size} for name, size in garbage.items()]
    return Outcome(exit_code=0, report=json.dumps({"tables": tables}))


def _assets(size: int) -> Outcome:
    """A report on unreferenced assets."""
    run = AssetRun(
        runid=1,
        run="x",
        timestamp=NOW,
        repository="r",
        live_set="l",
        engine="spark",
        settings={},
        unknown=0,
        assets=1,
        size_bytes=size,
    )
    shares = (0.4, 0.15, 0.1, 0.05)
    seen = [Group(name=str(runs), files=900 // runs, bytes=int(size * share)) for runs, share in enumerate(shares, 1)]
    taken = [Group(name=name, files=most, bytes=size * most // 900) for name, most in _TABLES.items()]
    enough = Group(name="5", files=sum(each.files for each in taken), bytes=sum(each.bytes for each in taken))
    latest = LatestRun(run=run, sightings=by_sightings([*seen, enough], 5), next_delete=Grouping.largest(taken))
    figures = AssetFigures(table="lake.gc.unreferenced", branch=None, threshold=Threshold(seen_count=5), latest=latest)
    return Outcome(exit_code=0, report=json.dumps(AssetPageReport(figures=figures).to_dict()))


# ---- screenshots --------------------------------------------------------------------------------------
@dataclass(frozen=True, kw_only=True)
class _Shot:
    name: str
    days: int
    width: int
    height: int
    dark: bool


SHOTS = (
    _Shot(name="schedule-page.png", days=30, width=1000, height=1850, dark=False),
    _Shot(name="schedule-page-phone.png", days=365, width=390, height=1500, dark=True),
)


def take_screenshots(folder: Path) -> Iterator[Path]:
    """Takes them."""
    store = a_year()
    with browser() as opened:
        for shot in SHOTS:
            tab = opened.new_page(
                viewport={"width": shot.width, "height": shot.height},
                color_scheme="dark" if shot.dark else "light",
            )
            tab.set_content(page(store, shot.days))
            tab.screenshot(path=folder / shot.name)
            tab.close()
            yield folder / shot.name


if __name__ == "__main__":
    for taken in take_screenshots(IMAGES):
        sys.stdout.write(f"{taken.name}\n")
