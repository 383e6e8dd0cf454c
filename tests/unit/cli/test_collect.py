from __future__ import annotations

import json
import uuid
from pathlib import Path

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
GC = ("gc", *COLLECT, "--inmemory")


def test_gc_deletes_what_nothing_needs_and_nothing_more(run: Run, lake: MemoryLake) -> None:
    needed = lake.needed_files(lake.visible([lake.history.reference("main").commit_id]))
    result = run(*GC, "-c", "1", "--json")
    assert 0 == result.exit_code, result.stderr
    report = json.loads(result.stdout)
    assert needed == lake.paths()
    assert report["deleted"]["files"] == report["unreferenced"]["files"] > 1
    again = json.loads(run(*GC, "-c", "1", "--json").stdout)
    assert 0 == again["unreferenced"]["files"]


def test_a_dry_run_names_what_a_real_run_deletes(run: Run, lake: MemoryLake) -> None:
    before = lake.paths()
    dry = json.loads(run(*GC, "--dry-run", "--json").stdout)
    assert (before, True) == (lake.paths(), dry["dry_run"])
    real = json.loads(run(*GC, "--json").stdout)
    assert dry["would_delete"] == real["deleted"] == {"files": 1, "bytes": 100}


def test_files_are_kept_for_a_day_where_nothing_is_said(run: Run, lake: MemoryLake) -> None:
    lake.put(ORPHAN)
    report = json.loads(run("gc", "--repository", "memory", "--engine", "local", "--inmemory", "--json").stdout)
    assert 1 == report["too_young"]["files"]
    assert ORPHAN in lake.paths()


def test_a_failed_delete_is_exit_code_1_and_named(run: Run, lake: MemoryLake) -> None:
    lake.faults.deleting[ORPHAN] = "locked"
    result = run(*GC)
    assert 1 == result.exit_code
    assert "failed (1)" in result.stdout
    assert f"{ORPHAN}: locked" in result.stdout


def test_what_cannot_be_read_is_exit_code_1_and_nothing_there_goes(run: Run, lake: MemoryLake) -> None:
    head = lake.history.state_at(lake.history.reference("main").commit_id)["db.t"].metadata_location or ""
    lake.objects.delete(head)
    before = lake.paths()
    result = run(*GC)
    assert 1 == result.exit_code
    assert before == lake.paths()
    assert "unknown: nothing was deleted there" in result.stdout
    assert head in result.stdout


def test_mark_and_sweep_hand_the_live_set_over_in_a_file(run: Run, lake: MemoryLake, home: Path) -> None:
    file = home / "some" / "folder" / "id"
    marked = run("mark", "--repository", "memory", "--write-live-set-id-to", file, "--json")
    assert 0 == marked.exit_code, marked.stderr
    assert json.loads(marked.stdout)["live_set_id"] == file.read_text().strip()
    swept = run("sweep", *COLLECT, "-L", file, "--json")
    assert 0 == swept.exit_code, swept.stderr
    assert 1 == json.loads(swept.stdout)["deleted"]["files"]
    again = run("sweep", *COLLECT, "-L", file)
    assert 1 == again.exit_code
    assert "EXPIRY_SUCCESS" in one_line(again)


@pytest.mark.parametrize("alias", ["mark-live", "identify"])
def test_marking_has_the_names_of_the_original(run: Run, lake: MemoryLake, alias: str) -> None:
    assert "next: 'nessie-gc sweep --dry-run " in run(alias, "--repository", "memory").stdout


def test_gc_writes_the_live_set_id_too(run: Run, lake: MemoryLake, home: Path) -> None:
    result = run(*GC, "--write-live-set-id-to", home / "id", "--json")
    assert json.loads(result.stdout)["live_set_id"] == (home / "id").read_text().strip()


def test_an_id_file_that_cannot_be_made_stops_everything_before_it_begins(
    run: Run, lake: MemoryLake, home: Path
) -> None:
    (home / "file").write_text("")
    result = run(*GC, "--write-live-set-id-to", home / "file" / "id")
    assert 1 == result.exit_code
    assert f"cannot write --write-live-set-id-to {home / 'file' / 'id'}" in one_line(result)
    assert 0 == lake.counts.entries_fetched


def test_a_live_set_that_does_not_exist_is_named(run: Run, lake: MemoryLake) -> None:
    id_ = str(uuid.uuid4())
    result = run("sweep", *COLLECT, "-l", id_)
    assert 1 == result.exit_code
    assert id_ in one_line(result)


def test_s10_a_live_set_that_is_too_old_is_refused(run: Run, lake: MemoryLake, home: Path) -> None:
    run("mark", "--repository", "memory", "--write-live-set-id-to", home / "id")
    result = run("sweep", *COLLECT, "-L", home / "id", "--max-live-set-age", "PT0S")
    assert 1 == result.exit_code
    assert "--max-live-set-age" in one_line(result)
    assert ORPHAN in lake.paths()


def test_s13_nothing_outside_the_allowed_locations_is_swept(run: Run, lake: MemoryLake) -> None:
    result = run(*GC, "--allow", "memory://other/")
    assert 0 == result.exit_code
    assert ORPHAN in lake.paths()
    assert "refused: the configuration keeps these from being swept (1)" in result.stdout


def test_s13_a_cap_keeps_everything(run: Run, lake: MemoryLake) -> None:
    report = json.loads(run(*GC, "-c", "1", "--max-deletes", "2", "--json").stdout)
    assert (0, report["unreferenced"]) == (report["deleted"]["files"], report["spared"])


def test_errors_are_json_too_where_json_is_asked_for(run: Run) -> None:
    result = run("gc", "--json", "-c", "nonsense", "--engine", "local")
    assert 2 == result.exit_code
    body = json.loads(result.stdout)
    assert (2, one_line(result)) == (body["exit_code"], body["error"])


def test_the_bloom_filter_never_deletes_a_live_file(run: Run, lake: MemoryLake) -> None:
    needed = lake.needed_files(lake.visible([lake.history.reference("main").commit_id]))
    run(*GC, "-c", "1", "--membership", "bloom", "--expected-file-count", "1", "--fpp", "0.5")
    assert needed <= lake.paths()


def test_every_outcome_goes_to_a_file(run: Run, lake: MemoryLake, home: Path) -> None:
    run(*GC, "--outcomes-to", home / "out.jsonl")
    (line,) = [json.loads(line) for line in (home / "out.jsonl").read_text().splitlines()]
    assert ("deleted", ORPHAN) == (line["outcome"], line["location"] + line["path"])


def test_log_lines_of_a_run_carry_the_live_set_id(run: Run, lake: MemoryLake) -> None:
    result = run(*GC, "--json")
    id_ = json.loads(result.stdout)["live_set_id"]
    lines = [line for line in result.stderr.splitlines() if "nessie_gc_core" in line]
    assert lines
    assert all(f"[{id_}]" in line for line in lines)


def test_quiet_says_nothing_but_the_result(run: Run, lake: MemoryLake) -> None:
    assert "" == run(*GC, "-q").stderr


def test_quiet_says_in_one_line_what_was_not_done(run: Run, lake: MemoryLake) -> None:
    lake.faults.deleting[ORPHAN] = "locked"
    result = run(*GC, "-q", "--json")
    id_ = json.loads(result.stdout)["live_set_id"]
    expected = f"error: gc: live set {id_}: 1 file could not be deleted; see the report, and run again\n"
    assert (1, expected) == (result.exit_code, result.stderr)
