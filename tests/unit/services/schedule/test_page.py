"""The page of a schedule."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, timedelta
from html.parser import HTMLParser
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from nessie_gc_core.model.quarantine import HeldState, Quarantine
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.page.figures import (
    DAYS,
    MOST_JOBS,
    MOST_MORE_JOBS,
    MOST_QUARANTINES,
    ScheduleFigures,
    figures_of,
)
from nessie_gc_core.services.schedule.page.multiples import MOST_TABLES, TableSeries
from nessie_gc_core.services.schedule.page.render import render_schedule
from nessie_gc_core.testing.schedule_samples import job, run_of

from .conftest import FAILED, MIDNIGHT, Bench

EVIL = "<script>alert(1)</script>\x1b[31m"


class Seen(HTMLParser):
    """The text of a page outside of its style, its elements, and their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.elements, self.attributes = "", list[str](), list[tuple[str, str | None]]()
        self._in_style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes += attrs
        self._in_style = tag == "style"
        self.text += " "

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False
        self.text += " "

    def handle_data(self, data: str) -> None:
        self.text += "" if self._in_style else data


@pytest.fixture
def figures(bench: Bench) -> ScheduleFigures:
    """A job that failed yesterday, and deleted 3 MB today."""
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}, EVIL: {"cron": "@yearly"}})
    done = Outcome(exit_code=0, report='{"deleted": {"files": 3, "bytes": 3145728}}')
    bench.runner.outcomes["nightly"] = [replace(FAILED, report='{"error": "it failed: ' + "<b>" + '"}'), done]
    scheduler.define()
    for _ in range(2):
        bench.clock.pass_(days=1)
        scheduler.run_due()
    held = Quarantine(
        repository="r",
        live_set_id=UUID(int=1),
        place="s3://held/",
        state=HeldState.HELD,
        until=MIDNIGHT + timedelta(days=9),
        files=7,
        bytes=2048,
    )
    return figures_of(bench.store, "default", now=bench.clock(), quarantines=[held])


def test_figures_are_those_of_the_last_days(figures: ScheduleFigures) -> None:
    *earlier, yesterday, today = figures.periods
    assert DAYS - 2 == len(earlier)
    assert [(1, 1, 0), (1, 0, 3145728)] == [(day.runs, day.bad, day.reclaimed) for day in (yesterday, today)]
    assert (3145728, 3145728, 0, 0) == (figures.reclaimed, figures.most_reclaimed, figures.running, figures.overdue)
    assert ["SUCCEEDED", "FAILED"] == [run.status.value for run in figures.latest]
    assert ["FAILED"] == [run.status.value for run in figures.bad]


def test_many_quarantines_are_the_next_to_end_and_a_sum(bench: Bench, figures: ScheduleFigures) -> None:
    (held,) = figures.quarantines
    days = range(MOST_QUARANTINES + 3)
    many = [replace(held, until=held.until + timedelta(days=day), repository=f"r{day}", files=day) for day in days]
    text = render_schedule(replace(figures, quarantines=many))
    listed = re.findall(r'data-name="repository">(r\d+)<', text)
    assert [f"r{day}" for day in range(MOST_QUARANTINES)] == listed
    row = Seen(text.partition("<tr>" + '<th scope="row">3 more: ')[2].partition("</tr>")[0]).text.split()
    assert ["nessie-gc", "list-quarantine", str(50 + 51 + 52), "6.0", "KiB"] == row


def test_a_long_time_is_shown_week_by_week_and_misses_nothing(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    bench.runner.outcomes["nightly"] = [
        Outcome(exit_code=0, report=json.dumps({"deleted": {"files": 1, "bytes": 10**day}})) for day in range(10)
    ]
    scheduler.define()
    for _ in range(10):
        bench.clock.pass_(days=1)
        scheduler.run_due()
    figures = figures_of(bench.store, "default", now=bench.clock(), days=365)
    assert [1, *[7] * 52] == [(period.last - period.first).days + 1 for period in figures.periods]
    assert [(3, 111), (7, 1_111_111_000)] == [(each.runs, each.reclaimed) for each in figures.periods[-2:]]
    assert (figures.periods[0].first, figures.periods[-1].last) == (
        MIDNIGHT.date() + timedelta(days=10 - 364),
        MIDNIGHT.date() + timedelta(days=10),
    )
    assert "in 365 days" in render_schedule(figures)
    assert "in each week" in render_schedule(figures)


@pytest.mark.parametrize("service", ["sweep", "expire"])
def test_what_a_sweep_deleted_before_it_was_resumed_counts_once_by_whichever_name_it_is_called(
    bench: Bench, service: str
) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily", "service": service}})
    bench.runner.outcomes["nightly"] = [
        Outcome(exit_code=1, report='{"error": "it failed", "done": {"deleted": {"files": 1, "bytes": 70}}}'),
        Outcome(exit_code=0, report='{"deleted": {"files": 2, "bytes": 100}}'),
    ]
    scheduler.define()
    for _ in range(2):
        bench.clock.pass_(days=1)
        scheduler.run_due()
    assert 100 == figures_of(bench.store, "default", now=bench.clock()).reclaimed


def test_tables_have_what_was_found_and_deleted_on_each_day(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    bench.runner.outcomes["nightly"] = [
        swept(a=(1000, 0), b=(10, 10)),
        Outcome(exit_code=0),
        swept(a=(3072, 1024)),
    ]
    scheduler.define()
    for _ in range(3):
        bench.clock.pass_(days=1)
        scheduler.run_due()
    figures = figures_of(bench.store, "default", now=bench.clock())
    first, second = figures.tables
    unknown = [None] * (DAYS - 3)
    assert ("a", [*unknown, 1000, None, 3072], [0] * (DAYS - 1) + [1024]) == (
        first.table,
        first.garbage,
        first.reclaimed,
    )
    assert ("b", [*unknown, 10, None, None], 10) == (second.table, second.garbage, second.total)
    text = " ".join(Seen(render_schedule(figures)).text.split())
    assert "a 3.0 KiB of garbage on 2026-03-05; 1.0 KiB deleted; at most 3.0 KiB" in text
    assert "b 10 B of garbage on 2026-03-03; 10 B deleted; at most 10 B" in text


def test_a_table_without_a_byte_has_no_picture(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    bench.runner.outcomes["nightly"] = [swept(clean=(0, 0), other=(1000, 0))]
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    assert ["other"] == [each.table for each in figures_of(bench.store, "default", now=bench.clock()).tables]


def test_all_tables_that_are_not_named_are_the_last(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    sizes = {f"t{number:02}": (1000 + number, 0) for number in range(MOST_TABLES + 2)}
    bench.runner.outcomes["nightly"] = [swept(**sizes)]
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    figures = figures_of(bench.store, "default", now=bench.clock())
    assert [f"t{number:02}" for number in reversed(range(2, MOST_TABLES + 2))] == [
        each.table for each in figures.tables[:-1]
    ]
    assert (None, 2001) == (figures.tables[-1].table, figures.tables[-1].last_garbage)
    assert "All other tables" in Seen(render_schedule(figures)).text


def test_a_line_has_gaps_where_nothing_is_known_and_no_picture_is_without_a_scale() -> None:
    series = TableSeries(
        table="a", garbage=[4, None, 0, 8], reclaimed=[0, 0, 0, 4], last_day=MIDNIGHT.date(), last_garbage=8
    )
    assert "M30.0 25.0h0M150.0 48.0h0L210.0 2.0" == series.line
    assert "M186.0 48V25.0h48.0V48z" == series.bars
    assert "M120.0 48.0h0" == replace(series, garbage=[0], reclaimed=[0]).line


def swept(**tables: tuple[int, int]) -> Outcome:
    """A run that found and deleted so many bytes in each table."""
    said = [
        {"tables": [name], "unreferenced": {"bytes": found}, "deleted": {"bytes": deleted}}
        for name, (found, deleted) in tables.items()
    ]
    return Outcome(exit_code=0, report=json.dumps({"tables": said}))


def test_of_many_jobs_those_that_went_wrong_come_first_and_others_are_unfolded_or_counted(bench: Bench) -> None:
    names = [f"job {number:03}" for number in range(MOST_JOBS + MOST_MORE_JOBS + 7)]
    scheduler = bench.scheduler({name: {"cron": "@daily"} for name in names})
    bench.runner.outcomes[names[-1]] = [FAILED]
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    figures = figures_of(bench.store, "default", now=bench.clock())
    assert [*names[: MOST_JOBS - 1], names[-1]] == [job.name for job in figures.listed_jobs]
    assert names[MOST_JOBS - 1 : MOST_JOBS - 1 + MOST_MORE_JOBS] == [job.name for job in figures.more_jobs]
    text = " ".join(Seen(render_schedule(figures)).text.split())
    assert f"{MOST_MORE_JOBS} more jobs" in text
    assert "7 others: nessie-gc schedule list" in text
    assert f"Jobs {len(names)} 0 running" in text


def test_a_page_says_what_is_due_what_failed_and_what_was_reclaimed(figures: ScheduleFigures) -> None:
    text = " ".join(Seen(render_schedule(figures)).text.split())
    for expected in (
        "0 0 * * * (at 00:00 every day, UTC) 2026-03-05 00:00:00+00:00 waiting SUCCEEDED",
        "Went wrong 1 of 2 runs in 30 days",
        "Reclaimed 3.0 MiB in 30 days",
        "In quarantine 2.0 KiB 7 files",
        "nightly FAILED 2026-03-03 00:00:00+00:00 2026-03-03 00:00:00+00:00 0 s it failed: <b>",
        "s3://held/ r HELD 2026-03-11 00:00:00+00:00 7 2.0 KiB",
    ):
        assert expected in text


def test_each_run_has_the_command_that_shows_its_report(figures: ScheduleFigures) -> None:
    listed = [*figures.bad, *figures.latest]
    text = Seen(render_schedule(figures)).text
    commands = re.findall(r"report +(nessie-gc schedule history \S+)", text)
    assert [f"nessie-gc schedule history {run.id}" for run in listed] == commands
    going_on = replace(figures, bad=[], latest=[replace(listed[0], ended=None)])
    assert f"run nessie-gc schedule history {listed[0].id}" in " ".join(Seen(render_schedule(going_on)).text.split())


def test_one_of_something_is_not_several(bench: Bench) -> None:
    scheduler = bench.scheduler({"nightly": {"cron": "@daily"}})
    scheduler.define()
    empty = Seen(render_schedule(figures_of(bench.store, "default", now=bench.clock(), days=1))).text
    assert "No run has started in 1 day." in empty
    bench.clock.pass_(days=1)
    scheduler.run_due()
    page = render_schedule(figures_of(bench.store, "default", now=bench.clock(), days=1))
    assert "Went wrong 0 of 1 run in 1 day" in " ".join(Seen(page).text.split())
    assert [f"{bench.clock().date()}: 0 B, 1 run, 0 went wrong"] == [
        value for name, value in Seen(page).attributes if name == "title"
    ]


def test_text_from_data_is_text_and_a_page_needs_nothing_else(figures: ScheduleFigures) -> None:
    page = render_schedule(figures)
    seen = Seen(page)
    assert "script" not in seen.elements
    assert "<script>alert(1)</script>\\x1b[31m" in seen.text
    assert [] == re.findall(r"https?://|url\(|@import", page)
    assert {"src", "href", "onclick"}.isdisjoint({name for name, _ in seen.attributes})


def test_times_are_those_of_a_zone(figures: ScheduleFigures) -> None:
    assert "2026-03-05 01:00" in render_schedule(figures, ZoneInfo("Europe/Berlin"))


def test_jobs_that_should_have_started_long_ago_are_a_notice(bench: Bench) -> None:
    bench.scheduler({"nightly": {"every": "PT1H"}}).define()
    now = MIDNIGHT + timedelta(hours=1, minutes=9)
    for minutes, expected in ((0, 0), (2, 1)):
        figures = figures_of(bench.store, "default", now=now + timedelta(minutes=minutes))
        assert expected == figures.overdue
        assert bool(expected) is ("Is a scheduler running?" in render_schedule(figures))


def test_jobs_that_wait_while_another_one_runs_are_no_reason_to_look_for_a_scheduler(bench: Bench) -> None:
    busy, waiting = job("busy"), job("waiting")
    bench.store.define_jobs("default", [busy, waiting])
    assert bench.store.start_run("default", run_of(busy), then=None, lease=timedelta(hours=9))
    assert waiting.next is not None
    page = render_schedule(figures_of(bench.store, "default", now=waiting.next.starts + timedelta(hours=1)))
    text = " ".join(Seen(page).text.split())
    said = "1 job could have started more than ten minutes ago. Other runs go on and may take all places; parallel says"
    assert (True, False) == (said in text, "Is a scheduler running?" in text)


def test_a_file_that_cannot_be_used_is_the_reason_why_nothing_starts(bench: Bench) -> None:
    bench.scheduler({"nightly": {"every": "PT1H"}}).define()
    now = MIDNIGHT + timedelta(hours=9)
    text = Seen(render_schedule(figures_of(bench.store, "default", now=now, problem=f"unknown option {EVIL}"))).text
    assert "No run starts, because the scheduler cannot use its file: unknown option <script>" in text
    assert "could have started" not in text


def test_a_run_whose_scheduler_is_gone_is_lost_and_does_not_run(bench: Bench) -> None:
    found = job()
    bench.store.define_jobs("default", [found])
    assert bench.store.start_run("default", run_of(found), then=None, lease=timedelta(0))
    text = " ".join(Seen(render_schedule(figures_of(bench.store, "default", now=MIDNIGHT))).text.split())
    assert "Jobs 1 0 running, 1 lost" in text
    assert "nightly gc every hour lost" in text


def test_a_page_of_nothing_is_a_page(bench: Bench) -> None:
    page = render_schedule(figures_of(bench.store, "default", now=MIDNIGHT.astimezone(UTC)))
    assert "No run has started in 30 days." in page
