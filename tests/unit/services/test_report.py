from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.report import MAX_NAMES, GcReport, NamedFile

tallies = st.dictionaries(st.sampled_from(Outcome), st.tuples(st.integers(0, 10**9), st.integers(0, 10**15)))


@given(tallies)
def test_unreferenced_is_the_sum_of_all_outcomes(found: dict[Outcome, tuple[int, int]]) -> None:
    report = GcReport()
    for outcome, (files, bytes_) in found.items():
        report.outcomes[outcome].add(files, bytes_)
    shown = report.to_dict()
    for unit in ("files", "bytes"):
        assert shown["unreferenced"][unit] == sum(shown[outcome.value][unit] for outcome in Outcome)


def test_only_failed_deletions_and_what_is_unknown_give_exit_code_1() -> None:
    assert 0 == GcReport().exit_code
    lossy = GcReport(unread={"a": "b"}, refused={"c": "d"})
    lossy.lost.add(3, 0)
    assert 0 == lossy.exit_code
    assert 1 == GcReport(unknown={"a": "b"}).exit_code
    assert 1 == GcReport(unreadable={"a": "b"}).exit_code
    failed = GcReport()
    failed.outcomes[Outcome.FAILED].add(1, 1)
    assert 1 == failed.exit_code


def test_a_report_is_json_with_times_in_utc() -> None:
    report = GcReport(started=datetime(2026, 1, 1, 1, 2, 3, 4, UTC))
    report.lost_files.append(NamedFile("s3://b/ü", None))
    shown = json.loads(json.dumps(report.to_dict()))
    assert ("2026-01-01T01:02:03.000004Z", None) == (shown["started"], shown["finished"])
    assert [{"path": "s3://b/ü", "reason": None}] == shown["lost"]["names"]


def test_lists_of_names_are_cut_and_warnings_come_once() -> None:
    report = GcReport(unknown={str(number): "x" for number in range(MAX_NAMES + 5)})
    for number in (1, 1, *range(2 * MAX_NAMES)):
        report.warn(f"warning {number}")
    assert [MAX_NAMES, MAX_NAMES] == [len(report.to_dict()["unknown"]), len(report.warnings)]
    assert len(report.warnings) == len(set(report.warnings))
    assert {
        "unknown": MAX_NAMES + 5,
        "unreadable": 0,
        "unread": 0,
        "refused": 0,
        "left_out": 0,
        "dropped": 0,
        "set_aside": 0,
    } == report.to_dict()["counts"]


def test_a_notebook_is_told_how_many_more_there_are_than_are_named() -> None:
    report = GcReport(unknown={f"s3://b/{number}/": "x" for number in range(100_000)})
    report.outcomes[Outcome.FAILED].add(7, 7)
    report.failed_files.append(NamedFile("s3://b/a", "denied"))
    html = report._repr_html_()
    named = html.count("<code>s3://b/") - 1
    assert f"and {100_000 - named:,} more" in html
    assert "and 6 more" in html


def test_a_phase_adds_up_its_time_even_where_it_fails() -> None:
    report = GcReport()
    for _ in range(2):
        try:
            with report.phase("list"):
                raise OSError
        except OSError:
            continue
    assert ["list"] == list(report.phases)


def test_s06_locations_that_stay_and_files_that_cannot_be_read_are_two_lists() -> None:
    report = GcReport(unknown={"s3://b/t/": "cannot read it"}, unreadable={"s3://b/t/1.avro": "it is truncated"})
    shown = report.to_dict()
    assert [{"location": "s3://b/t/", "reason": "cannot read it"}] == shown["unknown"]
    assert [{"path": "s3://b/t/1.avro", "reason": "it is truncated"}] == shown["unreadable"]


def test_the_worst_unknown_locations_are_named_and_the_others_counted() -> None:
    report = GcReport(unknown={f"s3://b/{n}/": "because" for n in range(MAX_NAMES + 50)}, files_in={})
    report.files_in.update({f"s3://b/{n}/": n for n in range(1000)})
    shown = report.to_dict()
    named = [each["location"] for each in shown["unknown"]]
    assert [f"s3://b/{n}/" for n in range(MAX_NAMES + 49, 49, -1)] == named
    assert shown["counts"]["unknown"] == MAX_NAMES + 50
