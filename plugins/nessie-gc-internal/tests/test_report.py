from __future__ import annotations

from datetime import UTC, datetime
from io import StringIO

import pytest
from nessie_gc_internal import InternalGcReport, UnseenContent
from rich.console import Console

from nessie_gc_core.errors import IncompleteError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _report(*, dry_run: bool = False) -> InternalGcReport:
    report = InternalGcReport(
        database="postgresql://db/nessie", repository_id="", dry_run=dry_run, started=NOON, cutoff=NOON, references=1
    )
    for name in ("scanned", "unreferenced", "purged"):
        getattr(report.tally("commits"), name).add(2000)
        getattr(report.tally("contents"), name).add(500)
    report.tally("contents").unstamped.add(1)
    return report


def _shown(report: InternalGcReport) -> str:
    written = StringIO()
    Console(width=120, file=written).print(report)
    return written.getvalue()


def test_the_sum_of_a_count_is_over_all_kinds() -> None:
    total = _report().total("purged")
    assert (2, 2500) == (total.records, total.bytes)


def test_as_json_it_has_sums_and_kinds() -> None:
    found = _report().to_dict()
    assert {"records": 2, "bytes": 2500} == found["purged"]
    assert {"records": 1, "bytes": 2000} == found["kinds"]["commits"]["purged"]
    assert "2026-01-01T12:00:00Z" == found["started"]


def test_a_terminal_shows_counts_and_bytes_of_each_kind_and_what_stayed_for_a_reason() -> None:
    shown = _shown(_report())
    assert "read: 1 reference, 2 records" in shown
    assert "2.0 KiB" in shown
    assert "2.4 KiB" in shown
    assert "1 record kept: no timestamp" in shown
    assert shown.rstrip().endswith("done")


def test_a_dry_run_says_so() -> None:
    assert "nothing was deleted: this was a dry run" in _shown(_report(dry_run=True))


def test_a_deletion_that_was_not_confirmed_is_shown() -> None:
    report = _report()
    report.tally("commits").uncertain.add(1)
    assert "1 record of unknown outcome: the database did not confirm" in _shown(report)


def test_contents_are_named_up_to_twenty() -> None:
    report = _report(dry_run=True)
    content = UnseenContent(content_id="id", content_type="ICEBERG_TABLE", metadata_location="s3://a\x1b[31m")
    report.contents, report.contents_found = [content] * 30, 30
    shown = _shown(report)
    assert "contents that no live commit references (30)" in shown
    assert "and 10 more (--json has the first 30)" in shown
    assert "\x1b" not in shown


def test_a_purge_that_failed_is_no_success() -> None:
    report = _report()
    report.failed = "disk full"
    assert 1 == report.exit_code
    assert "stopped early: disk full" in _shown(report)
    with pytest.raises(IncompleteError, match="2 records were purged, then: disk full"):
        report.raise_for_status()
