from __future__ import annotations

import io
import logging
import re
import time
from datetime import UTC, datetime

import pytest
from rich.console import Console

from nessie_gc_core.cli.logs import logging_to
from nessie_gc_core.cli.progress import show_progress
from nessie_gc_core.cli.screen import show_report
from nessie_gc_core.model.text import times_in
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.model.work import Traffic
from nessie_gc_core.services.report import GcReport, MarkedRepository, NamedFile
from nessie_gc_core.services.tally import Tally
from nessie_gc_core.services.watch import ShowsTraffic


@pytest.fixture
def report() -> GcReport:
    report = GcReport(
        repositories=[MarkedRepository(repository="http://lake", address="http://lake")],
        live_set_id="an-id",
        engine="local",
        started=datetime(2026, 1, 1, tzinfo=UTC),
        references=2,
        commits=1234,
        locations=3,
        files_listed=Tally(files=5000, bytes=1_200_000_000),
        phases={"mark": 1.26, "list": 2.0},
    )
    report.outcomes[Outcome.DELETED].add(1200, 3_400_000)
    return report


def test_a_report_says_what_was_read_and_what_became_of_it(
    report: GcReport, capsys: pytest.CaptureFixture[str]
) -> None:
    with times_in(UTC):
        assert 0 == show_report("gc", report, as_json=False)
    assert [
        "gc of http://lake, engine local",
        "live set an-id, begun 2026-01-01 00:00:00+00:00",
        "read: 2 references, 1,234 live commits, 5,000 files (1.1 GiB) listed in 3 locations",
        "time: mark 1.3 s, list 2 s",
        "",
        "unreferenced  files    bytes",
        "deleted       1,200  3.2 MiB",
        "all           1,200  3.2 MiB",
        "",
        "done",
    ] == [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_locations_that_are_left_out_are_counted_and_named_on_request(
    report: GcReport, capsys: pytest.CaptureFixture[str]
) -> None:
    report.left_out = {f"s3://b/{number:02}/": f"db.t{number:02} is left out" for number in range(25)}
    counted = "left out: 25 locations, by --include, --exclude and --set-aside"

    def said(**given: bool) -> list[str]:
        show_report("gc", report, as_json=False, **given)
        lines = capsys.readouterr().out.splitlines()
        return [line.rstrip() for line in lines[lines.index(counted) + 1 : -1]]

    assert [] == said()
    named = [f"  db.t{number:02} is left out (s3://b/{number:02}/)" for number in range(20)]
    assert [*named, "  and 5 more"] == said(verbose=True)
    report.tables = []
    assert [*named, "  and 5 more"] == said()


def test_a_report_says_what_was_left_alone_with_reasons(report: GcReport, capsys: pytest.CaptureFixture[str]) -> None:
    report.unknown = {f"s3://b/{number}/": f"cannot read {number}" for number in range(25)}
    report.unreadable = {"s3://b/1/metadata/1.avro": "it is truncated"}
    report.unread = {"s3://b/delta/": "holds a content of type DELTA_LAKE_TABLE"}
    report.refused = {"s3://b/": "is less than 2 levels deep"}
    report.lost.files, report.lost_files = 1, [NamedFile("s3://b/x", None)]
    report.warn("careful")
    assert 1 == show_report("gc", report, as_json=False)
    said = capsys.readouterr().out.splitlines()
    assert "unknown: nothing was deleted there; make it readable and run again (25)" in said
    assert "  and 5 more (--outcomes-to FILE has every file)" in said
    assert "unreadable: files that decide what is live (1)" in said
    assert "  s3://b/1/metadata/1.avro: it is truncated" in said
    assert "  s3://b/delta/: holds a content of type DELTA_LAKE_TABLE" in said
    assert "  s3://b/: is less than 2 levels deep" in said
    assert "lost: referenced but not stored (1)" in said
    assert "warning: careful" in said
    assert "not everything could be done: see above" == said[-1]


def terminal() -> tuple[Console, io.StringIO]:
    text = io.StringIO()
    return Console(file=text, force_terminal=True, width=100), text


def test_progress_is_bars_on_a_terminal_with_log_lines_above(report: GcReport) -> None:
    console, text = terminal()
    with logging_to(console, 1, report, quiet=False), show_progress(console, quiet=False) as progress:
        progress("mark", 3, 8)
        logging.getLogger("nessie_gc_core.test").info("something happened")
        progress("mark", 8, 8)
    assert "8/8" in text.getvalue()
    assert "[an-id] something happened" in text.getvalue()


def test_progress_shows_how_fast_it_goes_and_what_was_asked_of_stores(report: GcReport) -> None:
    console, text = terminal()
    with show_progress(console, quiet=False) as progress:
        progress("expand", 0, 2_000)
        assert isinstance(progress, ShowsTraffic)
        progress.show_traffic(Traffic(requests=1_234, bytes_read=5_600_000))
        time.sleep(0.05)
        progress("expand", 1_000, 2_000)
        time.sleep(0.15)
        progress("expand", 1_500, 2_000)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text.getvalue())
    assert re.search(r"1500/2000 [\d,]+/s [\d.]+ s [\d.]+ s left 1,234 requests, 5\.3 MiB", shown)


def test_off_a_terminal_a_line_now_and_then_says_how_far_a_phase_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nessie_gc_core.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    with caplog.at_level("INFO"), show_progress(Console(file=io.StringIO()), quiet=False) as progress:
        assert isinstance(progress, ShowsTraffic)
        progress("list", 0, None)
        progress.show_traffic(Traffic(requests=1, bytes_read=2_000))
        progress("list", 1_500, None)
        progress("delete", 10, 2_000)
    lines = [record.message for record in caplog.records]
    assert re.fullmatch(r"list: 1,500 \(([\d,]+/s, )?1 request, 2\.0 KiB\)", lines[1])
    assert re.match(r"delete: 10 of 2,000", lines[2])


def test_a_terminal_shows_warnings_only_where_nothing_else_is_asked_for(report: GcReport) -> None:
    console, text = terminal()
    with logging_to(console, 0, report, quiet=False):
        logging.getLogger("nessie_gc_core.test").info("something happened")
    assert "" == text.getvalue()
