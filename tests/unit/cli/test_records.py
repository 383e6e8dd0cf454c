from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_memory import MemoryLake

OLD, NEW = "memory:default", "lake-1"


@pytest.fixture
def store(run: Run, lake: MemoryLake, home: Path) -> str:
    """The URL of a store with the records of one collection."""
    url = f"sqlite:///{home}/live-sets.db"
    assert 0 == run("gc", *COLLECT, "-c", "1", "--jdbc-url", url).exit_code
    return url


def moved(run: Run, store: str, *options: str) -> dict[str, object]:
    result = run("move-records", "--from", OLD, "--to", NEW, "--jdbc-url", store, "--json", *options)
    assert 0 == result.exit_code, result.stderr
    answer: dict[str, object] = json.loads(result.stdout)
    return answer


def repositories(run: Run, store: str) -> list[str]:
    listed = json.loads(run("list", "--json", "--jdbc-url", store).stdout)["live_sets"]
    return [live_set["repository"] for live_set in listed]


def test_records_move_and_a_dry_run_only_counts_them(run: Run, store: str) -> None:
    would = moved(run, store, "--dry-run")
    assert [OLD] == repositories(run, store)
    assert {**would, "dry_run": False} == moved(run, store)
    assert [NEW] == repositories(run, store)
    assert (OLD, NEW, 1) == (would["from"], would["to"], would["live_sets"])
    assert would["tombstones"]
    assert would["seen_contents"]


def test_what_moved_is_said_in_one_line(run: Run, store: str) -> None:
    result = run("move-records", "--from", OLD, "--to", NEW, "--jdbc-url", store)
    assert re.match(
        r"moved 1 live set, (1 tombstone|[02-9] tombstones), (1 content|[02-9] contents) and 0 tags from ",
        result.stdout,
    )
    assert f"from {OLD!r} to {NEW!r}" in result.stdout


@pytest.mark.parametrize("dry_run", [(), ("--dry-run",)])
@pytest.mark.parametrize("held", [OLD, NEW])
def test_records_stay_while_somebody_collects(run: Run, store: str, held: str, dry_run: tuple[str, ...]) -> None:
    with JdbcLiveSetStore.from_options({"url": store}) as opened:
        opened.acquire_lease(held, "one", host="elsewhere", process=7, duration=timedelta(hours=1))
    result = run("move-records", "--from", OLD, "--to", NEW, "--jdbc-url", store, *dry_run)
    assert 1 == result.exit_code
    said = one_line(result)
    assert "process 7 on elsewhere" in said
    assert f"since {datetime.now(UTC):%Y-}" in said
    assert [OLD] == repositories(run, store)


def test_the_report_of_a_run_says_that_another_process_is_at_work(run: Run, store: str) -> None:
    with JdbcLiveSetStore.from_options({"url": store}) as opened:
        opened.acquire_lease(OLD, "one", host="elsewhere", process=7, duration=timedelta(hours=1))
    result = run("move-records", "--from", OLD, "--to", NEW, "--jdbc-url", store, "--json")
    assert (1, True) == (result.exit_code, json.loads(result.stdout)["busy"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from", "nobody", "--to", NEW), "no records under 'nobody'"),
        (("--from", OLD, "--to", OLD), "two different"),
        (("--from", OLD), "--from and --to"),
    ],
)
def test_what_cannot_move_is_said(run: Run, store: str, arguments: tuple[str, ...], message: str) -> None:
    result = run("move-records", *arguments, "--jdbc-url", store)
    assert 2 == result.exit_code
    assert message in result.stderr
    assert [OLD] == repositories(run, store)
