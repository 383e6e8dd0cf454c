from __future__ import annotations

import json
import os
import re
import uuid
from datetime import timedelta
from pathlib import Path

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.lease import hold_lease

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
NEW_YORK = ("--time-zone", "America/New_York")
DEFERRED = ("deferred-deletes", "--repository", "memory", "--engine", "local")


def mark(run: Run) -> str:
    return str(json.loads(run("mark", "--repository", "memory", "-c", "1", "--json").stdout)["live_set_id"])


@pytest.fixture
def swept(run: Run, lake: MemoryLake) -> str:
    """The id of a live set whose deletions are deferred."""
    id_ = mark(run)
    result = run("sweep", *COLLECT, "-l", id_, "--defer-deletes", "--json")
    assert 0 == result.exit_code, result.stderr
    report = json.loads(result.stdout)
    assert report["unreferenced"] == report["deferred"]
    return id_


def test_live_sets_are_listed_newest_first(run: Run, lake: MemoryLake) -> None:
    ids = [mark(run) for _ in range(3)]
    listed = run("list", *NEW_YORK).stdout.splitlines()
    assert ids[::-1] == [line.split()[0] for line in listed[1:]]
    assert all(re.search(r" \d{4}-\d\d-\d\d \d\d:\d\d:\d\d-0[45]:00 ", line) for line in listed[1:])
    assert ids[::-1] == [found["id"] for found in json.loads(run("list", "--json").stdout)["live_sets"]]


def test_a_failed_mark_is_listed_with_its_error(run: Run, lake: MemoryLake) -> None:
    lake.faults.log[lake.history.reference("main").commit_id or ""] = ConnectionError("the line is dead")
    assert 1 == run("mark", "--repository", "memory").exit_code
    listed = run("list").stdout
    assert "IDENTIFY_FAILED" in listed
    assert "the line is dead" in listed


def test_live_sets_are_listed_by_status_and_number(run: Run, lake: MemoryLake, swept: str) -> None:
    marked = [mark(run) for _ in range(2)]
    found = json.loads(run("list", "--status", "expiry_success", "--json").stdout)["live_sets"]
    assert [swept] == [each["id"] for each in found]
    assert marked[1:] == [each["id"] for each in json.loads(run("list", "--limit", "1", "--json").stdout)["live_sets"]]
    assert "no live sets have this status\n" == run("list", "--status", "IDENTIFY_FAILED").stdout
    assert "'SWEPT' is not one of" in one_line(run("list", "--status", "SWEPT"))


def test_a_list_says_how_long_marks_and_sweeps_took(run: Run, lake: MemoryLake, swept: str) -> None:
    mark(run)
    lines = run("list").stdout.splitlines()
    assert ["mark", "sweep begun", "sweep"] == re.findall(r"  (mark|sweep begun|sweep)(?=  )", lines[0])
    assert [1, 2] == [len(re.findall(r"\d s  ", f"{line}  ")) for line in lines[1:]]
    newest, oldest = json.loads(run("list", "--json").stdout)["live_sets"]
    assert newest["sweep_seconds"] is None
    assert newest["mark_seconds"] > 0 < oldest["sweep_seconds"]
    assert re.search(r"^mark took +[\d.]+ s$", run("show", "-l", swept).stdout, re.MULTILINE)
    assert oldest["sweep_seconds"] == json.loads(run("show", "-l", swept, "--json").stdout)["sweep_seconds"]


def test_no_line_of_a_list_is_broken_in_a_file(run: Run, lake: MemoryLake) -> None:
    reason = "the line is dead, " * 40
    lake.faults.log[lake.history.reference("main").commit_id or ""] = ConnectionError(reason)
    run("mark", "--repository", "memory")
    lines = run("list").stdout.splitlines()
    assert (2, True) == (len(lines), reason.strip() in lines[1])
    assert [line.rstrip() for line in lines] == lines


def test_an_id_is_never_broken_on_a_terminal(run: Run, lake: MemoryLake) -> None:
    id_ = mark(run)
    shown = run("list", env={"FORCE_COLOR": "1", "TERM": "dumb"}).stdout
    assert id_ in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize("command", ["show", "delete", "list-deferred"])
def test_the_first_characters_of_an_id_name_a_live_set(run: Run, swept: str, command: str) -> None:
    arguments = ("--discard-deferred",) if command == "delete" else ()
    assert swept in run(command, "-l", swept[:8], *arguments, "--json").stdout


def test_a_sweep_takes_the_first_characters_of_an_id(run: Run, lake: MemoryLake, home: Path) -> None:
    id_ = mark(run)
    (home / "id.txt").write_text(id_[:6] + "\n")
    assert id_ == json.loads(run("sweep", *COLLECT, "--dry-run", "-l", id_[:6], "--json").stdout)["live_set_id"]
    assert id_ == json.loads(run("sweep", *COLLECT, "-L", "id.txt", "--json").stdout)["live_set_id"]


def test_too_few_characters_of_an_id_are_refused(run: Run, lake: MemoryLake) -> None:
    result = run("sweep", *COLLECT, "-l", mark(run)[:3])
    assert (2, True) == (result.exit_code, "the first 4 or more characters of one" in one_line(result))


def test_an_empty_store_says_how_to_make_a_live_set(run: Run) -> None:
    assert "there are no live sets; 'nessie-gc mark' creates one\n" == run("list").stdout


def test_a_live_set_is_shown_with_all_that_belongs_to_it(run: Run, swept: str) -> None:
    shown = run("show", "-l", swept, "-D", "-C", "-B", *NEW_YORK).stdout
    assert "status              EXPIRY_SUCCESS" in shown
    assert "repository          memory:default" in shown
    assert "cut-off policy 1" in shown
    assert "MEMORY_TABLE" in shown
    assert "memory://warehouse/db/t" in shown
    assert "data/orphan.parquet" in shown


def test_a_live_set_is_shown_as_json_too(run: Run, swept: str) -> None:
    shown = json.loads(run("show", "-l", swept, "-D", "-C", "-B", "--json").stdout)
    assert (swept, 1, len(shown["deferred_deletes"])) == (
        shown["id"],
        len(shown["content_versions"]),
        shown["counts"]["deferred_files"],
    )
    assert ["main"] == [reference["name"] for reference in shown["references"]]
    assert "deferred_deletes" not in json.loads(run("show", "-l", swept, "--json").stdout)


def test_deleting_a_live_set_deletes_no_file(run: Run, lake: MemoryLake, swept: str) -> None:
    before, said = lake.paths(), f"live set {swept} (EXPIRY_SUCCESS) of memory:default"
    result = run("delete", "-l", swept, "--discard-deferred")
    assert f"{said} is deleted from the store; no file was touched\n" == result.stdout
    assert before == lake.paths()
    again = run("delete", "-l", swept)
    assert (1, True) == (again.exit_code, swept in one_line(again))


def test_deferred_deletes_are_given_up_by_an_explicit_word_only(run: Run, lake: MemoryLake, swept: str) -> None:
    result = run("delete", "-l", swept)
    assert (1, True) == (result.exit_code, "deferred deletions" in one_line(result))
    assert "--discard-deferred" in one_line(result)
    assert swept in run("list").stdout


def test_a_live_set_is_not_deleted_while_its_repository_is_collected(run: Run, lake: MemoryLake) -> None:
    id_ = mark(run)
    url = f"sqlite:///{os.environ['XDG_DATA_HOME']}/nessie-gc/live-sets.db"
    spec = ConnectorSpec(kind="live-set-store", name="jdbc", options={"url": url})
    minute = timedelta(minutes=1)
    with installed().open(LiveSetStore, spec) as store, hold_lease(store, ["memory:default"], minute):
        result = run("delete", "-l", id_)
        assert (1, True) == (result.exit_code, f"live set {id_} (IDENTIFY_SUCCESS) may be" in one_line(result))
    assert 0 == run("delete", "-l", id_).exit_code


@pytest.mark.parametrize("command", ["show", "delete", "list-deferred"])
def test_a_live_set_that_does_not_exist_is_named(run: Run, command: str) -> None:
    id_ = str(uuid.uuid4())
    result = run(command, "-l", id_)
    assert (1, True) == (result.exit_code, id_ in one_line(result))


def test_deferred_deletes_are_listed(run: Run, swept: str) -> None:
    result = run("list-deferred", "-l", swept, *NEW_YORK)
    assert "2025-12-31 19:00:00-05:00  memory://warehouse/db/t/  data/orphan.parquet" in result.stdout.splitlines()
    files = json.loads(run("list-deferred", "-l", swept, "--json").stdout)["files"]
    assert len(result.stdout.splitlines()) == len(files)


def test_a_live_set_that_was_not_swept_has_no_deferred_deletes(run: Run, lake: MemoryLake) -> None:
    id_ = mark(run)
    for command in (("list-deferred", "-l", id_), (*DEFERRED, "-l", id_)):
        result = run(*command)
        assert 1 == result.exit_code
        assert f"live set {id_} is IDENTIFY_SUCCESS, expected EXPIRY_SUCCESS" in one_line(result)


def test_deferred_deletes_are_deleted_once(run: Run, lake: MemoryLake, swept: str) -> None:
    needed = lake.needed_files(lake.visible([lake.history.reference("main").commit_id]))
    dry = json.loads(run(*DEFERRED, "-l", swept, "--dry-run", "--json").stdout)
    result = run(*DEFERRED, "-l", swept, "--json")
    assert 0 == result.exit_code, result.stderr
    assert dry["would_delete"] == json.loads(result.stdout)["deleted"]
    assert needed == lake.paths()
    assert [] == json.loads(run("list-deferred", "-l", swept, "--json").stdout)["files"]
    assert 0 == json.loads(run(*DEFERRED, "-l", swept, "--json").stdout)["unreferenced"]["files"]


def test_s09_what_became_live_since_is_spared_and_stays_recorded(run: Run, lake: MemoryLake, swept: str) -> None:
    old = lake.history.commit_of(lake.history.commit_of(lake.history.reference("main").commit_id or "").parent_id or "")
    lake.branch("rescue", old.commit_id)
    needed = lake.needed_files(lake.visible([old.commit_id]))
    result = run(*DEFERRED, "-l", swept)
    assert 0 == result.exit_code, result.stderr
    assert needed <= lake.paths()
    assert ORPHAN not in lake.paths()
    assert "a new or moved reference needs it" in result.stdout
    left = json.loads(run("list-deferred", "-l", swept, "--json").stdout)["files"]
    assert {file["location"] + file["path"] for file in left} <= needed


def test_s10_deferred_deletes_of_an_old_live_set_are_refused(run: Run, lake: MemoryLake, swept: str) -> None:
    result = run(*DEFERRED, "-l", swept, "--max-live-set-age", "PT0S")
    assert (1, True) == (result.exit_code, "--max-live-set-age" in one_line(result))
    assert ORPHAN in lake.paths()


def test_deferred_deletes_are_refused_for_another_repository(run: Run, lake: MemoryLake, swept: str) -> None:
    result = run(*DEFERRED, "-l", swept, "-r", "lake=another")
    assert (1, True) == (result.exit_code, "was created from memory:default" in one_line(result))


def test_s13_deferred_deletes_outside_the_allowed_locations_stay(run: Run, lake: MemoryLake, swept: str) -> None:
    report = json.loads(run(*DEFERRED, "-l", swept, "--allow", "memory://other/", "--json").stdout)
    assert report["unreferenced"] == report["spared"]
    assert ORPHAN in lake.paths()


def test_failed_deferred_deletes_stay_recorded(run: Run, lake: MemoryLake, swept: str) -> None:
    lake.faults.deleting[ORPHAN] = "locked"
    result = run(*DEFERRED, "-l", swept)
    assert (1, True) == (result.exit_code, f"{ORPHAN}: locked" in result.stdout)
    left = json.loads(run("list-deferred", "-l", swept, "--json").stdout)["files"]
    assert [ORPHAN] == [file["location"] + file["path"] for file in left]
    lake.faults.deleting.clear()
    assert 1 == json.loads(run(*DEFERRED, "-l", swept, "--json").stdout)["deleted"]["files"]


def test_the_tables_can_be_made_on_request(run: Run, home: Path) -> None:
    store = ("--jdbc-url", f"sqlite:///{home}/x.db")
    assert "now exist (CREATE)" in run("create-sql-schema", *store).stdout
    again = run("create-sql-schema", *store)
    assert (1, True) == (again.exit_code, "already" in one_line(again))
    assert 0 == run("create-sql-schema", *store, "--jdbc-schema", "drop_and_create").exit_code


def test_the_script_that_makes_the_tables_can_be_seen(run: Run, home: Path) -> None:
    printed = run("show-sql-create-schema-script").stdout
    assert "CREATE TABLE nessie_gc_" in printed
    run("show-sql-create-schema-script", "--output-file", home / "x.sql")
    assert printed == (home / "x.sql").read_text()


# ---- prune --------------------------------------------------------------------------------------------
def test_old_live_sets_are_removed_and_the_others_say_why_they_stay(run: Run, lake: MemoryLake, swept: str) -> None:
    old, newest = mark(run), mark(run)
    reason = "it is the newest of memory:default that was completely marked"
    assert 0 == run("sweep", *COLLECT, "-l", newest).exit_code
    before = lake.paths()
    dry = run("prune", "--older-than", "PT0S", "--discard-deferred", "--dry-run")
    assert "would remove 2 live sets; no file was touched" == dry.stdout.splitlines()[0]
    lines = run("prune", "--older-than", "PT0S", "--discard-deferred").stdout.splitlines()
    assert "removed 2 live sets; no file was touched" == lines[0]
    assert [f"  {old}  IDENTIFY_SUCCESS", f"  {swept}  EXPIRY_SUCCESS"] == [lines[1][:56], lines[2][:54]]
    assert "1 stays for reasons other than age and status:" == lines[3]
    assert f"  {newest}  EXPIRY_SUCCESS of memory:default: {reason}" == lines[4]
    assert before == lake.paths()
    assert [newest] == [found["id"] for found in json.loads(run("list", "--json").stdout)["live_sets"]]


def test_a_mark_after_the_last_sweep_stays(run: Run, lake: MemoryLake, swept: str) -> None:
    mark(run), mark(run)
    assert "would remove 0 live sets" in run("prune", "--older-than", "PT0S", "--dry-run").stdout


def test_pruning_is_told_as_json_too(run: Run, lake: MemoryLake) -> None:
    old, newest = mark(run), mark(run)
    report = json.loads(run("prune", "--older-than", "PT0S", "--json").stdout)
    assert ([old], [newest], False) == (
        [found["id"] for found in report["pruned"]],
        [found["id"] for found in report["kept"]],
        report["dry_run"],
    )
    assert (True, True) == (report["kept"][0]["asked"], "newest" in report["kept"][0]["reason"])


def test_young_live_sets_are_counted_only(run: Run, lake: MemoryLake) -> None:
    mark(run)
    expected = ["removed 0 live sets; no file was touched", "1 stays because of age or status"]
    assert expected == run("prune", "--older-than", "P1D").stdout.splitlines()


def test_s27_an_age_of_snapshots_is_not_that_of_live_sets(run: Run, home: Path) -> None:
    assert "--older-than is missing" in one_line(run("prune"))
    (home / "nessie-gc.toml").write_text('older-than = "PT0S"\n')
    assert "its key 'older-than' is not for live sets" in one_line(run("prune"))
    assert "--older-than is missing" in one_line(run("prune", env={"NESSIE_GC_OLDER_THAN": "PT0S"}))
    assert "'soon' is not a duration" in one_line(run("prune", "--older-than", "soon"))


def test_the_age_may_stand_in_the_configuration(run: Run, lake: MemoryLake, home: Path) -> None:
    mark(run), mark(run)
    young = "removed 0 live sets; no file was touched"
    (home / "nessie-gc.toml").write_text('prune-older-than = "P1D"\nolder-than = "PT0S"\n')
    assert young == run("prune").stdout.splitlines()[0]
    assert "would remove 1 live set;" in run("prune", "--older-than", "PT0S", "--dry-run").stdout
    assert "would remove 1 live set;" in run("prune", "--prune-older-than", "PT0S", "--dry-run").stdout
    variable = {"NESSIE_GC_PRUNE_OLDER_THAN": "PT0S"}
    assert "would remove 1 live set;" in run("prune", "--dry-run", env=variable).stdout
    (home / "nessie-gc.toml").write_text('prune-older-than = "soon"\n')
    assert "'soon' is not a duration" in one_line(run("prune"))


def test_the_configuration_shows_the_age_of_live_sets(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text('prune-older-than = "P1D"\n')
    shown = run("config", "show").stdout
    (line,) = (line.split() for line in shown.splitlines() if "prune-older-than" in line)
    assert ["prune-older-than", "P1D"] == line[:2]
    assert '# prune-older-than = "P90D"' in run("init", "-").stdout


def test_a_branch_that_moves_is_walked_again(run: Run, lake: MemoryLake, swept: str) -> None:
    head = lake.history.state_at(lake.history.reference("main").commit_id)["db.t"]
    lake.commit("main", put(head))
    assert 1 == json.loads(run(*DEFERRED, "-l", swept, "--json").stdout)["references_moved"]
