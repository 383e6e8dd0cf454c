from __future__ import annotations

import json

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
GC = ("gc", *COLLECT, "--inmemory", "--dry-run")
EXPLAIN = ("explain", *COLLECT, "--inmemory")


# ---- by table -------------------------------------------------------------------------------------------
def test_a_report_by_table_is_asked_for(run: Run, lake: MemoryLake) -> None:
    assert "db.t " not in run(*GC).stdout
    shown = run(*GC, "--by-table").stdout
    row = next(line for line in shown.splitlines() if line.startswith("db.t "))
    assert row.endswith("1 would delete")
    (table,) = json.loads(run(*GC, "--by-table", "--json").stdout)["tables"]
    assert (["db.t"], {"files": 1, "bytes": 100}) == (table["tables"], table["would_delete"])
    assert json.loads(run(*GC, "--json").stdout)["tables"] is None


def test_a_table_that_is_left_out_says_so(run: Run, lake: MemoryLake) -> None:
    shown = run(*GC, "--exclude", "db[.].*", "--by-table").stdout
    assert "left alone: db.t is left out" in shown
    assert "left out: 1 location, by --include, --exclude and --set-aside" in shown
    report = json.loads(run(*GC, "--include", "other", "--json").stdout)
    assert ({"files": 0, "bytes": 0}, 1) == (report["unreferenced"], report["counts"]["left_out"])


def test_a_wrong_pattern_is_one_line(run: Run, lake: MemoryLake) -> None:
    result = run(*GC, "--include", "(")
    assert 2 == result.exit_code
    assert "'('" in one_line(result)


# ---- explain --------------------------------------------------------------------------------------------
def test_explain_says_who_needs_a_file(run: Run, lake: MemoryLake) -> None:
    live = next(path for path in lake.needed_files(lake.visible([lake.history.reference("main").commit_id])))
    result = run(*EXPLAIN, live)
    assert 0 == result.exit_code, result.stderr
    first, second, *others = result.stdout.splitlines()
    assert [live, "  live"] == [first, second]
    assert any(line.startswith("  needed by db.t") and " on main" in line for line in others)


def test_explain_says_why_a_file_would_go(run: Run, lake: MemoryLake) -> None:
    before = lake.paths()
    result = run(*EXPLAIN, ORPHAN, "memory://warehouse/elsewhere/a.parquet")
    assert "  unreferenced: nothing needs it, and a run deletes it\n" in result.stdout
    assert "outside: it is not in a location of a table or view" in result.stdout
    assert before == lake.paths()


def test_explain_notes_a_limit_in_the_words_of_the_command_line(run: Run, lake: MemoryLake) -> None:
    result = run(*EXPLAIN, ORPHAN, "--max-deletes", "5")
    assert "note: a run may delete fewer files: --max-deletes is 5" in result.stdout
    assert 0 == result.exit_code


def test_explain_gives_json(run: Run, lake: MemoryLake) -> None:
    found = json.loads(run(*EXPLAIN, ORPHAN, "--json").stdout)
    assert [(ORPHAN, "unreferenced", 100)] == [(f["path"], f["standing"], f["size"]) for f in found["files"]]
    assert found["reading"]["dry_run"] is True


@pytest.mark.parametrize(("arguments", "said"), [((), "FILE"), (("data/a.parquet",), "full path")])
def test_explain_wants_whole_paths(run: Run, lake: MemoryLake, arguments: tuple[str, ...], said: str) -> None:
    result = run(*EXPLAIN, *arguments)
    assert 2 == result.exit_code
    assert said in one_line(result)
