from __future__ import annotations

import io
import logging
from datetime import UTC, datetime

import pytest
from rich.console import Console

from nessie_gc_core.cli.logs import logging_to
from nessie_gc_core.cli.progress import show_progress
from nessie_gc_core.cli.screen import show_report
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.report import GcReport, NamedFile, Tally


@pytest.fixture
def report() -> GcReport:
    report = GcReport(
        repository="http://lake",
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
    assert 0 == show_report("gc", report, as_json=False, zone=UTC)
    assert [
        "gc of http://lake, engine local",
        "live set an-id, begun 2026-01-01 00:00:00",
        "read: 2 references, 1,234 live commits, 5,000 files (1.2 GB) listed in 3 locations",
        "time: mark 1.3 s, list 2.0 s",
        "",
        "unreferenced  files   bytes",
        "deleted       1,200  3.4 MB",
        "all           1,200  3.4 MB",
        "",
        "done",
    ] == [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_a_report_says_what_was_left_alone_with_reasons(report: GcReport, capsys: pytest.CaptureFixture[str]) -> None:
    report.unknown = {f"s3://b/{number}/": "cannot read it" for number in range(25)}
    report.unreadable = {"s3://b/1/metadata/1.avro": "it is cut off"}
    report.unread = {"s3://b/delta/": "holds a content of type DELTA_LAKE_TABLE"}
    report.refused = {"s3://b/": "is less than 2 levels deep"}
    report.lost.files, report.lost_files = 1, [NamedFile("s3://b/x", None)]
    report.warn("careful")
    assert 1 == show_report("gc", report, as_json=False, zone=UTC)
    said = capsys.readouterr().out.splitlines()
    assert "unknown: nothing was deleted there; make it readable and run again (25)" in said
    assert "  and 5 more (--outcomes-to FILE has every file)" in said
    assert "unreadable: files that decide what is live (1)" in said
    assert "  s3://b/1/metadata/1.avro: it is cut off" in said
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


def test_a_terminal_shows_warnings_only_where_nothing_else_is_asked_for(report: GcReport) -> None:
    console, text = terminal()
    with logging_to(console, 0, report, quiet=False):
        logging.getLogger("nessie_gc_core.test").info("something happened")
    assert "" == text.getvalue()
