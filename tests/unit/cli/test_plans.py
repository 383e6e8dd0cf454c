from __future__ import annotations

import json
from pathlib import Path

from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
GC = ("gc", *COLLECT)
SWEEP = ("sweep", *COLLECT)


def test_a_plan_is_made_shown_and_applied(run: Run, lake: MemoryLake) -> None:
    before = lake.paths()
    made = run(*GC, "--plan", "plan.parquet")
    assert 0 == made.exit_code, made.stderr
    assert "next: 'nessie-gc show-plan plan.parquet' shows these files; 'nessie-gc sweep --apply plan" in made.stdout
    shown = run("show-plan", "plan.parquet")
    assert 0 == shown.exit_code, shown.stderr
    assert "would delete 1 file (100 B)\n" in shown.stdout
    digest = next(line.split()[-1] for line in shown.stdout.splitlines() if line.startswith("digest"))
    assert f"digest {digest}" in made.stdout
    assert before == lake.paths()
    report = json.loads(run(*SWEEP, "--apply", "plan.parquet", "--json").stdout)
    assert {"files": 1, "bytes": 100} == report["deleted"]
    assert {ORPHAN} == before - lake.paths()


def test_a_plan_as_json(run: Run, lake: MemoryLake) -> None:
    report = json.loads(run(*GC, "--plan", "plan.jsonl", "--json").stdout)
    shown = json.loads(run("show-plan", "plan.jsonl", "--json").stdout)
    assert (report["plan"]["sha256"], report["live_set_id"]) == (shown["sha256"], shown["live_set_id"])
    assert (1, 100) == (shown["files"], shown["bytes"])
    assert [{"table": "db.t", "files": 1, "bytes": 100}] == shown["by_table"]
    (row,) = (json.loads(line) for line in Path("plan.jsonl").read_text().splitlines()[1:-1])
    assert (ORPHAN, "db.t", False) == (row["location"] + row["path"], row["table"], row["sidecar"])


def test_a_plan_never_overwrites_a_file(run: Run, lake: MemoryLake) -> None:
    Path("plan.jsonl").write_text("mine")
    result = run(*GC, "--plan", "plan.jsonl")
    assert 2 == result.exit_code
    assert "--plan 'plan.jsonl' already exists; name another file, or remove it" == one_line(result)
    assert "mine" == Path("plan.jsonl").read_text()


def test_what_cannot_be_combined_is_one_line(run: Run, lake: MemoryLake) -> None:
    for arguments, said in (
        ((*GC, "--plan", "plan.csv"), "--plan 'plan.csv' must end in .jsonl or .parquet"),
        ((*GC, "--plan", "no/plan.jsonl"), "the folder 'no' does not exist; create it first"),
        ((*GC, "--plan", "plan.jsonl", "--inmemory"), "--inmemory and --plan are mutually exclusive"),
        ((*SWEEP, "--apply", "plan.jsonl"), "the plan plan.jsonl does not exist"),
        (("show-plan", "plan.jsonl"), "the plan plan.jsonl does not exist"),
    ):
        result = run(*arguments)
        assert 2 == result.exit_code
        assert said in one_line(result)
    run(*GC, "--plan", "plan.jsonl")
    result = run(*SWEEP, "--apply", "plan.jsonl", "--plan", "other.jsonl")
    assert (2, "--plan and --apply are mutually exclusive: one writes a file, the other deletes") == (
        result.exit_code,
        one_line(result),
    )
