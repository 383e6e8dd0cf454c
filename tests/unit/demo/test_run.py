from __future__ import annotations

import pytest

from nessie_gc_core.demo.collector import Collection
from nessie_gc_core.demo.run import DemoResult


def collection(deleted: int, *, exit_code: int = 0) -> Collection:
    return Collection(report={"deleted": {"files": deleted, "bytes": 1}}, exit_code=exit_code, complaints="why")


def result(first: Collection, second: Collection, *differences: str) -> DemoResult:
    return DemoResult(states=1, first=first, second=second, folders=(), differences=differences)


def test_a_good_run_deletes_once_and_changes_no_live_state() -> None:
    assert [] == result(collection(9), collection(0)).problems


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (result(collection(0), collection(0)), "the first collection deleted nothing"),
        (
            result(collection(9), collection(1)),
            "the second collection deleted 1 files; it must find the 0 that the first spared",
        ),
        (result(collection(9, exit_code=1), collection(0)), "the first collection ended with exit code 1: why"),
        (result(collection(9), collection(0, exit_code=2)), "the second collection ended with exit code 2: why"),
        (result(collection(9), collection(0), "orders at main: lost"), "orders at main: lost"),
    ],
    ids=["nothing deleted", "deleted twice", "first fails", "second fails", "a state lost"],
)
def test_what_must_not_happen_is_a_problem(bad: DemoResult, problem: str) -> None:
    assert [problem] == bad.problems
