"""What is proposed about files in quarantine is run as it is printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from cli_runs import COLLECT, Run
from in_quarantine import DEAD, FIRST, with_garbage
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, TableState, put
from next_steps import NextSteps, proposes, steps_over

from nessie_gc_core.services.quarantine.restore import RestoreService

PLACE, TAGS = "memory://wh/held/", "tags:memory://wh/"
GC = ("gc", *COLLECT, "-c", "P10D")


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """The lake that the connectors use where no other is named; what a test writes into it is a hundred days old."""
    with lake_at(datetime.now(UTC) - timedelta(days=100), "default") as lake:
        yield lake


@pytest.fixture
def steps(run: Run, lake: MemoryLake) -> NextSteps:
    return steps_over(lake, run)


def with_old_state(lake: MemoryLake, name: str) -> str:
    """A table with a state that nothing needs any more; the commit that shows it."""
    empty = lake.table(f"db.{name}", location=f"memory://wh/db/{name}", content_id=name)
    first = empty.append("a.parquet")
    lake.commit("main", put(empty.version))
    commit = lake.commit("main", put(first.version))
    lake.advance(timedelta(days=1))
    lake.commit("main", put(first.overwrite("b.parquet").expire(1).version))
    return commit


def garbage(lake: MemoryLake) -> TableState:
    """A table, and three files beside it that nobody needs."""
    state = with_garbage(lake)
    lake.now = None
    return state


@proposes("algorithms/restorable.py: restore(under)", "services/quarantine/needed_again.py: restore(everything)")
@pytest.mark.parametrize(("tables", "then"), [(1, "restore --under"), (11, "restore --everything")])
def test_what_a_live_state_needs_comes_back(
    steps: NextSteps, run: Run, lake: MemoryLake, tables: int, then: str
) -> None:
    commits = [with_old_state(lake, f"t{number}'s") for number in range(tables)]
    lake.advance(timedelta(days=40))
    lake.now = None
    assert 0 == run(*GC, "--quarantine", PLACE).exit_code
    for number, commit in enumerate(commits):
        lake.branch(f"audit-{number}", commit)
    needing = run(*GC)
    assert 1 == needing.exit_code
    steps.follow(needing, then)
    assert 0 == run(*GC, "--dry-run").exit_code
    assert not any(path.startswith(PLACE) for path in lake.paths())


@proposes("algorithms/restorable.py: restore(matching)")
def test_what_may_be_a_lost_file_comes_back(steps: NextSteps, run: Run, lake: MemoryLake) -> None:
    live = garbage(lake)
    assert 0 == run(*GC, "--quarantine", PLACE).exit_code
    lost = live.append("p=12%3A30/dead-0.parquet")
    lake.commit("main", put(lost.version))
    lake.objects.delete("memory://wh/db/t/data/p=12%3A30/dead-0.parquet")
    steps.follow(run(*GC), "restore")
    assert {FIRST} == set(DEAD) & lake.paths()


def test_a_tagged_file_that_is_needed_again_loses_its_tag(steps: NextSteps, run: Run, lake: MemoryLake) -> None:
    live = garbage(lake)
    assert 0 == run(*GC, "--quarantine", TAGS).exit_code
    lake.commit("dev", put(live.append("dead-1.parquet").version))
    steps.follow(run(*GC), "restore")
    assert lake.objects.tagged("memory://wh/db/t/data/dead-1.parquet").mark is None  # type: ignore[union-attr]


@pytest.mark.parametrize("place", [PLACE, TAGS])
def test_a_file_that_is_explained_comes_back(steps: NextSteps, run: Run, lake: MemoryLake, place: str) -> None:
    garbage(lake)
    assert 0 == run(*GC, "--quarantine", place).exit_code
    explained = run("explain", FIRST, *COLLECT[:4], "-c", "P10D")
    assert "1 file" in steps.follow(explained, "restore").stdout
    assert FIRST in lake.paths()


def test_a_restoration_that_was_interrupted_is_finished(
    steps: NextSteps, run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    garbage(lake)
    assert 0 == run(*GC, "--quarantine", PLACE, "--quarantine-for", "PT0S").exit_code
    with monkeypatch.context() as patched:
        patched.setattr(RestoreService, "function", dying)
        assert 130 == run("restore", *COLLECT[:4], "--matching", ".*dead-0[.]parquet").exit_code
    steps.follow(run("purge", *COLLECT[:4]), "restore")
    assert {FIRST} == set(DEAD) & lake.paths()


def dying(*_: object) -> None:
    raise KeyboardInterrupt


@proposes("services/quarantine/unneeded.py: gc()")
def test_a_purge_that_no_sweep_allows_is_allowed_by_a_gc(steps: NextSteps, run: Run, lake: MemoryLake) -> None:
    garbage(lake)
    swept = run(*GC, "--quarantine", TAGS, "--quarantine-for", "PT0S", "--json")
    assert 0 == run("delete", "-l", json.loads(swept.stdout)["live_set_id"]).exit_code
    purge = ("purge", *COLLECT[:4])
    steps.follow(run(*purge), "gc")
    assert 0 == run(*purge).exit_code
    assert not set(DEAD) & lake.paths()
