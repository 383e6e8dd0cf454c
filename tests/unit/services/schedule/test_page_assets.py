"""What the page of a schedule says of unreferenced assets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.schedule import TableDay
from nessie_gc_core.services.assets.page.counting import by_sightings
from nessie_gc_core.services.assets.page.figures import AssetFigures, Group, Grouping, LatestRun, Threshold
from nessie_gc_core.services.assets.page.service import AssetPageReport, AssetPageService
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.page.assets import COUNTED, MOST_REPORTS, MOST_TABLES, SERVICE
from nessie_gc_core.services.schedule.page.figures import ScheduleFigures, figures_of
from nessie_gc_core.services.schedule.page.multiples import multiples
from nessie_gc_core.services.schedule.page.render import render_schedule

from .conftest import FAILED, Bench
from .test_page import Seen

RUN = AssetRun(
    runid=3,
    run="x",
    timestamp=datetime(2026, 3, 1, tzinfo=UTC),
    repository="r",
    live_set="l",
    engine="local",
    settings={},
    unknown=0,
    assets=5,
    size_bytes=50,
)
SEEN = by_sightings([Group(name="1", files=4, bytes=4096), Group(name="2", files=2, bytes=2048)], 3)


def report(taken: Sequence[Group] = (), *, latest: bool = True) -> Outcome:
    """A report on a table of assets, as its service makes it."""
    found = LatestRun(run=RUN, sightings=SEEN, next_delete=Grouping.largest(taken))
    figures = AssetFigures(
        table="lake.gc.assets", branch=None, threshold=Threshold(seen_count=3), latest=found if latest else None
    )
    return Outcome(exit_code=0, report=json.dumps(AssetPageReport(figures=figures).to_dict()))


def shown(bench: Bench, *outcomes: Outcome, service: str = SERVICE) -> ScheduleFigures:
    scheduler = bench.scheduler({"assets": {"service": service, "cron": "@daily"}})
    bench.runner.outcomes["assets"] = [*outcomes]
    scheduler.define()
    for _ in outcomes:
        bench.clock.pass_(days=1)
        scheduler.run_due()
    return figures_of(bench.store, "default", now=bench.clock())


def text_of(figures: ScheduleFigures) -> str:
    return " ".join(Seen(render_schedule(figures)).text.split())


def test_the_service_that_is_looked_for_is_there() -> None:
    assert AssetPageService.name == SERVICE


def test_it_says_how_many_are_on_their_way_and_what_the_next_deletion_takes(bench: Bench) -> None:
    taken = [Group(name="sales.a", files=3, bytes=3072), Group(name="", files=1, bytes=1024)]
    text = text_of(shown(bench, report([]), report(taken)))
    assert (
        "lake.gc.assets , as assets found it on 2026-03-04 00:00:00+00:00. A deletion takes what 3 runs have seen."
        in text
    )
    assert "runs that saw them files size 1 4 4.0 KiB 2 2 2.0 KiB 3 or more 0 0 B" in text
    assert "At most 4 files, 4.0 KiB ; it looks at each of them again." in text
    assert "table files size sales.a 3 3.0 KiB not known 1 1.0 KiB" in text


def test_only_the_largest_tables_are_named(bench: Bench) -> None:
    (found,) = shown(bench, report([Group(name=f"t{size:02}", files=1, bytes=size) for size in range(25)])).assets
    assert [f"t{size:02}" for size in reversed(range(15, 25))] == [group.name for group in found.taken_tables]
    assert found.others is not None
    assert (15, sum(range(15))) == (found.others.files, found.others.bytes)
    assert MOST_TABLES == len(found.taken_tables)


def test_the_latest_report_counts_that_is_one(bench: Bench) -> None:
    figures = shown(bench, report([Group(name="a", files=7, bytes=7)]), FAILED)
    assert [7] == [each.taken.files for each in figures.assets]


@pytest.mark.parametrize(
    "outcome",
    [report(latest=False), Outcome(exit_code=0, report='{"latest": 3}'), Outcome(exit_code=0), FAILED],
    ids=["no run is complete", "something else", "no report", "failed"],
)
def test_a_report_without_sightings_is_not_shown(bench: Bench, outcome: Outcome) -> None:
    assert "Unreferenced assets" not in text_of(shown(bench, outcome))


def test_nothing_to_take_is_said(bench: Bench) -> None:
    assert "The next deletion would take Nothing." in text_of(shown(bench, report()))


@pytest.mark.parametrize("service", COUNTED)
def test_where_no_job_counts_sightings_it_says_what_would(bench: Bench, service: str) -> None:
    assert "A job with the service report shows here" in text_of(shown(bench, FAILED, service=service))


def test_names_of_tables_are_text_in_attributes_too(bench: Bench) -> None:
    evil = '"><script>alert(1)</script>'
    figures = shown(bench, report([Group(name=evil, files=1, bytes=1)]))
    tables = multiples([TableDay(day=figures.now.date(), table=evil, garbage=1, reclaimed=1)], [figures.now.date()])
    seen = Seen(render_schedule(replace(figures, tables=tables)))
    assert "script" not in seen.elements
    assert [f"{evil}: 1 B of garbage on 2026-03-03, 1 B deleted in 30 days"] == [
        value for name, value in seen.attributes if name == "aria-label" and evil in (value or "")
    ]


@pytest.mark.parametrize(("more", "said"), [(0, ""), (1, "1 more job"), (2, "2 more jobs")])
def test_of_many_jobs_that_report_some_are_shown_and_the_others_counted(bench: Bench, more: int, said: str) -> None:
    names = [f"assets-{number}" for number in range(MOST_REPORTS + more)]
    scheduler = bench.scheduler({name: {"service": SERVICE, "cron": "@daily"} for name in names})
    bench.runner.outcomes.update({name: [report()] for name in names})
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    figures = figures_of(bench.store, "default", now=bench.clock())
    assert names[:MOST_REPORTS] == [each.run.job for each in figures.assets]
    text = text_of(figures)
    assert bool(more) is ("with the service report" in text)
    assert f"{said} with the service report" in text or not said


def test_another_service_makes_no_such_report(bench: Bench) -> None:
    assert [] == shown(bench, report(), service="gc").assets
