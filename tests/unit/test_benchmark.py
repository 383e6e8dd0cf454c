"""What the benchmark works out from its runs."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import psutil
import pytest
from benchmark.measuring import as_installed, measure
from benchmark.runs import RunResult
from benchmark.shape import LakeShape
from benchmark.showing import scaling_share
from nessie_gc_memory.mock import MockOracle, commit_records


def run_with(workers: int | None, seconds: float, *, files: int = 1000) -> RunResult:
    return RunResult(
        engine="local",
        dry_run=True,
        place="disk",
        workers=workers,
        floor=1.0,
        tables=1,
        appends=1,
        stored_files=files,
        seconds=seconds,
        phases={},
        peak_megabytes={},
        dead_files=0,
        expected_dead_files=0,
        report={},
    )


@pytest.mark.parametrize(
    ("workers", "seconds", "share"),
    [(2, 10.0, 0.0), (2, 5.0, 1.0), (2, 7.5, 0.5), (4, 2.5, 1.0), (4, 7.0, 0.4)],
)
def test_the_share_that_scales_follows_amdahls_law(workers: int, seconds: float, share: float) -> None:
    one, several = run_with(1, 10.0), run_with(workers, seconds)
    assert share == pytest.approx(scaling_share([one, several], several))


def test_nothing_is_said_of_scaling_without_a_run_of_one_worker_on_the_same_lake() -> None:
    several = run_with(2, 5.0)
    others = [run_with(1, 10.0, files=9), run_with(None, 10.0), several]
    assert scaling_share(others, several) is None


def test_one_worker_alone_says_nothing_of_scaling() -> None:
    one = run_with(1, 10.0)
    assert scaling_share([one], one) is None


def test_what_is_measured_may_keep_compiled_modules() -> None:
    assert {"PATH": "/bin"} == as_installed({"PATH": "/bin", "PYTHONDONTWRITEBYTECODE": "1"})


def test_where_shared_memory_is_not_told_apart_resident_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS, whose processes have no proportional set size."""
    monkeypatch.setattr(psutil.Process, "memory_full_info", lambda _: SimpleNamespace(rss=7_000_000))
    measured = measure([sys.executable, "-c", "import time; time.sleep(0.5)"])
    assert 7.0 == measured.peak_megabytes["driver"]


@pytest.mark.parametrize("tables_per_commit", [1, 3])
@pytest.mark.parametrize("branches", [0, 2])
def test_a_lake_has_as_many_commits_and_files_as_its_shape_says(branches: int, tables_per_commit: int) -> None:
    shape = LakeShape(tables=6, appends=10, files_per_append=5, branches=branches, tables_per_commit=tables_per_commit)
    spec = shape.spec("file:///lake")
    commits = [record["commit"] for record in commit_records(spec) if "commit" in record]
    assert (60 // tables_per_commit, 1 + branches) == (len(commits), len(set(commits)))
    counts = MockOracle(spec).counts()
    assert (60 * (5 + 3) + 30, 30) == (counts.stored, counts.garbage)
