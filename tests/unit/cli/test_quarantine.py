from __future__ import annotations

import json

from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
PLACE = "memory://warehouse/.held/"
GC = ("gc", *COLLECT, "--quarantine", PLACE)
RESTORE = ("restore", "--repository", "memory", "--engine", "local")
PURGE = ("purge", *RESTORE[1:])


def test_files_go_to_a_quarantine_and_come_back(run: Run, lake: MemoryLake) -> None:
    before = lake.paths()
    shown = run(*GC)
    assert 0 == shown.exit_code, shown.stderr
    row = next(line for line in shown.stdout.splitlines() if line.startswith("quarantined"))
    assert "'restore' can bring them back" in row
    listed = run("list-quarantine").stdout.splitlines()
    assert 2 == len(listed)
    assert f"{PLACE}  HELD" in listed[1]
    (found,) = json.loads(run("list-quarantine", "--json").stdout)["quarantines"]
    assert (1, 100, "HELD") == (found["files"], found["bytes"], found["state"])
    dry = run(*RESTORE, "--include", "db[.]t", "--dry-run")
    assert f"1 file (100 B) would be restored\n  {ORPHAN}\n" == dry.stdout
    report = json.loads(run(*RESTORE, "--live-set-id", found["live_set_id"], "--json").stdout)
    assert {"files": 1, "bytes": 100} == report["restored"]
    assert before == lake.paths()
    assert run("list-quarantine").stdout.startswith("nothing is in quarantine")


def test_a_purge_waits_for_the_end(run: Run, lake: MemoryLake) -> None:
    run(*GC)
    assert (
        "0 files (0 B) purged\n1 file waiting: they are not purged yet, and can still be restored\n"
        == run(*PURGE).stdout
    )
    run(*RESTORE, "--everything")
    run(*GC, "--quarantine-for", "PT0S")
    dry = run(*PURGE, "--by-table", "--dry-run").stdout.splitlines()
    assert ["1 file (100 B) would be purged", "table db.t: would delete: 1 file, 100 B"] == dry[:2]
    assert "1 file (100 B) purged\n" == run(*PURGE).stdout
    assert not any(path.startswith(PLACE) for path in lake.paths())


def test_what_is_wrong_is_one_line(run: Run, lake: MemoryLake) -> None:
    for arguments, said in (
        (RESTORE, "say which files to restore: with --live-set-id, --include, --under or --matching, or --everything"),
        ((*RESTORE, "--matching", "("), "--matching '(' is not a regular expression: "),
        ((*RESTORE, "--under", "warehouse"), "--under: 'warehouse' is not absolute and has no scheme"),
        ((*RESTORE, "--live-set-id", "abcdef"), "the id of no live set begins with 'abcdef'"),
        ((*GC, "--quarantine", "memory://warehouse/other/"), "in one store; name one of them"),
        (("gc", *COLLECT, "--quarantine", "memory://warehouse/"), "is a whole bucket; name a folder in it"),
        ((*GC, "--quarantine-for", "-P1D"), "--quarantine-for must not be negative"),
    ):
        result = run(*arguments)
        assert result.exit_code in (1, 2)
        assert said in one_line(result), result.stderr
