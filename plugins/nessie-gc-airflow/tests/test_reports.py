from __future__ import annotations

from typing import Any

import pytest
from nessie_gc_airflow.reports import what_failed

_COLLECTION = {"failed": {"files": 3, "bytes": 9}, "unknown": [{}], "unreadable": [], "counts": {"unknown": 120}}


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (_COLLECTION, "3 could not be deleted, 120 stayed unknown"),
        (
            {"collection": _COLLECTION, "failed": 2},
            "2 could not be deleted, 3 could not be deleted, 120 stayed unknown",
        ),
        ({"unreadable": 7, "tables": [{"table": "db.t"}]}, "7 could not be read"),
        ({"failed": "the database is gone"}, "the database is gone"),
        (
            {
                "tables": [
                    {"table": "db.a", "outcome": "rewritten"},
                    {"table": "db.b", "outcome": "conflict", "reason": "someone else"},
                    {"table": "db.c", "outcome": "unreadable", "reason": "broken"},
                ]
            },
            "db.b and 1 more: conflict: someone else",
        ),
        ({"tags": [{"name": "date/1", "outcome": "refused", "reason": "no"}]}, "date/1: refused: no"),
        ({}, "exit code 1"),
        ({"tables": None, "failed": None}, "exit code 1"),
    ],
)
def test_a_line_says_what_was_not_done(report: dict[str, Any], said: str) -> None:
    assert f"gc: {said}; the report is in XCom, as return_value" == what_failed("gc", report)


def test_a_line_names_the_live_set() -> None:
    assert "sweep: 1 could not be deleted (live set 7); the report is in XCom, as return_value" == what_failed(
        "sweep", {"live_set_id": "7", "failed": {"files": 1}}
    )
