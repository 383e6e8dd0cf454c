from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import Run, one_line
from lakes_by_hand import LakeBeside
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core import Collector
from nessie_gc_core.errors import AccessDeniedError, ServiceUnavailableError

SETTINGS = 'engine = "local"\nmin-age = "PT0S"\nno-age-floor = true\n'
ENTRY = '[[repositories]]\nlabel = "{label}"\nname = "memory"\nlake = "{lake}"\n'
ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"


@pytest.fixture
def beside(lake: MemoryLake) -> MemoryLake:
    """A lake over the same objects, one of whose tables has the other's orphan."""
    beside = LakeBeside(lake)
    empty = beside.table("db.u", location="memory://warehouse/db/u")
    beside.commit("main", put(empty.version), put(empty.append(ORPHAN).version))
    lake.put("memory://warehouse/db/u/data/orphan.parquet")
    return beside


@pytest.fixture
def file(home: Path, lake: MemoryLake, beside: MemoryLake) -> Path:
    """A configuration file in the working directory that names both."""
    path = home / "nessie-gc.toml"
    entries = ENTRY.format(label="mine", lake=lake.name) + ENTRY.format(label="their-lake", lake=beside.name)
    path.write_text(SETTINGS + entries)
    return path


def test_repositories_of_the_file_are_collected_together(
    run: Run, lake: MemoryLake, beside: MemoryLake, file: Path
) -> None:
    report = json.loads(run("gc", "--json").stdout)
    assert ["memory:default", f"memory:{beside.name}"] == [each["repository"] for each in report["repositories"]]
    assert [None, None] == [each["unread"] for each in report["repositories"]]
    assert report["live_set_id"] == report["repositories"][0]["live_set_id"]
    assert (1, 0) == (report["deleted"]["files"], report["exit_code"])
    assert ORPHAN in lake.paths()
    assert "memory://warehouse/db/u/data/orphan.parquet" not in lake.paths()


def test_a_page_names_them_all(run: Run, file: Path, beside: MemoryLake) -> None:
    result = run("gc", "--dry-run")
    assert f"gc of memory:default, memory:{beside.name}, engine local, dry run" == result.stdout.splitlines()[0]


@pytest.mark.parametrize("inmemory", [[], ["--inmemory"]])
def test_a_page_says_which_live_set_and_which_table_is_of_which_repository(
    run: Run, file: Path, beside: MemoryLake, inmemory: list[str]
) -> None:
    lines = run("gc", "--dry-run", "--by-table", *inmemory).stdout.splitlines()
    of = [line.partition(" of ")[2] for line in lines if line.startswith("live set ")]
    assert ["memory:default", f"memory:{beside.name}"] == of
    (head,) = (number for number, line in enumerate(lines) if line.startswith("repository "))
    rows = {tuple(line.split()[:2]) for line in lines[head + 1 : head + 3]}
    assert {("memory:default", "db.t"), (f"memory:{beside.name}", "db.u")} == rows


def test_rows_by_table_have_their_repositories(run: Run, file: Path, beside: MemoryLake) -> None:
    report = json.loads(run("gc", "--dry-run", "--by-table", "--json").stdout)
    assert [(["db.t"], ["memory:default"]), (["db.u"], [f"memory:{beside.name}"])] == sorted(
        (row["tables"], row["repositories"]) for row in report["tables"]
    )


def test_lists_say_which_repository_a_live_set_is_of(run: Run, file: Path, beside: MemoryLake) -> None:
    marked = {
        each["live_set_id"]: each["repository"] for each in json.loads(run("mark", "--json").stdout)["repositories"]
    }
    head, *rows = run("list").stdout.splitlines()
    assert ["live", "set", "repository"] == head.split()[:3]
    assert marked == {row.split()[0]: row.split()[1] for row in rows}
    for id_, repository in marked.items():
        assert repository == json.loads(run("show", id_, "--json").stdout)["repository"]
        assert f"repository          {repository}" in run("show", id_).stdout.splitlines()
    pruned = run("prune", "--older-than", "PT0S", "--dry-run").stdout
    assert all(repository in pruned for repository in marked.values())


def test_long_identities_stay_apart(run: Run, home: Path) -> None:
    names = [f"{'a' * 200}/{number}" for number in (1, 2)]
    for name in names:
        MemoryLake.named(name).branch("main", at=None)
        assert 0 == run("mark", "--repository", "memory", "-r", f"lake={name}").exit_code
    listed = run("list").stdout
    assert all(f"memory:{name}" in listed for name in names)
    assert "…" not in run("list", env={"FORCE_COLOR": "1", "TERM": "dumb"}).stdout


def test_one_id_is_enough_for_the_sweep(run: Run, lake: MemoryLake, file: Path) -> None:
    marked = json.loads(run("mark", "--json").stdout)
    swept = json.loads(run("sweep", "--json", "--live-set-id", marked["live_set_id"]).stdout)
    assert marked["repositories"] == swept["repositories"]
    assert 1 == swept["deleted"]["files"]
    assert ORPHAN in lake.paths()


def test_a_label_chooses_the_one_that_is_swept(run: Run, lake: MemoryLake, file: Path) -> None:
    assert 0 == run("gc", "--repository", "mine").exit_code
    assert {ORPHAN, "memory://warehouse/db/u/data/orphan.parquet"} <= lake.paths()
    assert 0 == run("gc", env={"NESSIE_GC_REPOSITORY": "their-lake"}).exit_code
    assert "memory://warehouse/db/u/data/orphan.parquet" not in lake.paths()


def test_python_reads_the_same_file(lake: MemoryLake, file: Path) -> None:
    with Collector.from_toml(file) as gc:
        plan = gc.plan()
        assert 1 == plan.would_delete.files
        plan.apply().raise_for_status()
    assert ORPHAN in lake.paths()


def test_check_looks_at_each(run: Run, file: Path, beside: MemoryLake) -> None:
    found = run("check", "--engine", "local").stdout
    assert "memory:default has 1 reference; " in found
    assert f"memory:{beside.name} has 1 reference" in found


def test_check_has_a_row_for_each_repository_and_says_what_the_store_has(
    run: Run, file: Path, beside: MemoryLake
) -> None:
    run("mark")
    checks = json.loads(run("check", "--engine", "local", "--json").stdout)["checks"]
    identities = ["memory:default", f"memory:{beside.name}"]
    assert identities == [check["repository"] for check in checks if check["name"] == "repository"]
    (store,) = (check["detail"] for check in checks if check["name"] == "live-set store")
    assert "it has live sets of 2 repositories, the newest are " in store
    assert all(f" of {identity}, IDENTIFY_SUCCESS" in store for identity in identities)


def test_check_reads_metadata_of_each(run: Run, lake: MemoryLake, file: Path, beside: MemoryLake) -> None:
    head = beside.history.reference("main").commit_id
    (state,) = (each for each in beside.history.state_at(head).values())
    assert "ok      reading: the metadata of db.t, db.u can be read" in run("check", "--engine", "local").stdout
    lake.faults.reading[str(state.metadata_location)] = AccessDeniedError("no; grant s3:GetObject")
    result = run("check", "--engine", "local")
    assert 1 == result.exit_code
    assert "failed  reading: no; grant s3:GetObject; " in result.stdout


def test_one_that_cannot_be_read_is_named_and_the_exit_code_says_it(
    run: Run, lake: MemoryLake, beside: MemoryLake, file: Path
) -> None:
    run("gc", "--dry-run")
    beside.faults.references = ServiceUnavailableError("nobody answers")
    result = run("gc")
    assert 1 == result.exit_code
    assert f"memory:{beside.name} cannot be read, so nothing that it had up to" in result.stdout
    assert {ORPHAN, "memory://warehouse/db/u/data/orphan.parquet"} <= lake.paths()


# ---- what is refused ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (("gc", "-r", "lake=x"), {}, "--repository-option is ambiguous: there are several [[repositories]]"),
        (("gc", "--uri", "http://x"), {}, "--uri is ambiguous: there are several [[repositories]]"),
        (("gc",), {"NESSIE_GC_TOKEN": "x"}, "--token is ambiguous: there are several [[repositories]]"),
        (
            ("gc",),
            {"NESSIE_GC_REPOSITORY_LAKE": "x"},
            "put the label of the right one into it: NESSIE_GC_REPOSITORIES_LABEL_LAKE",
        ),
        (("gc",), {"NESSIE_GC_REPOSITORIES_OTHER_LAKE": "x"}, "unknown environment variable"),
        (
            ("gc", "--repository", "memory"),
            {},
            "'memory' is not the label of one of the [[repositories]]: mine, their-lake",
        ),
        (("health",), {}, "several [[repositories]] are configured: choose one with --repository, by its label"),
    ],
)
def test_what_does_not_say_which_is_meant_is_refused(
    run: Run, file: Path, lake: MemoryLake, arguments: tuple[str, ...], environment: dict[str, str], said: str
) -> None:
    before = lake.paths()
    result = run(*arguments, env=environment)
    assert result.exit_code
    assert said in one_line(result)
    assert before == lake.paths()


def test_options_of_one_of_them_come_from_the_environment(run: Run, file: Path) -> None:
    result = run("mark", env={"NESSIE_GC_REPOSITORIES_THEIR_LAKE_HISTORY_FILE": "/nowhere.json"})
    assert "memory:/nowhere.json was never marked" in one_line(result)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[repository]\nname = "memory"\n' + ENTRY.format(label="a", lake="x"), "mutually exclusive"),
        (ENTRY.format(label="a", lake="x") * 2, "two of the [[repositories]] are 'a'"),
        (ENTRY.format(label="a b", lake="x"), "the label 'a b' may only contain letters"),
        ('[repositories]\nname = "memory"\n', "write [[repositories]], one for each repository"),
        ("repositories = [1]\n", "write [[repositories]], one for each repository"),
        (ENTRY.format(label="a", lake="x") + "laek = 1\n", "[[repositories]] 'a': repository 'memory': unknown option"),
        ('[[repositories]]\nname = "memry"\n', "memry"),
        ("[[repositorys]]\nname = 1\n", "did you mean 'repository'?"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(run: Run, home: Path, lake: MemoryLake, text: str, said: str) -> None:
    (home / "nessie-gc.toml").write_text(SETTINGS + text)
    result = run("mark")
    assert result.exit_code
    assert said in one_line(result)


def test_one_entry_is_one_repository(run: Run, home: Path, lake: MemoryLake) -> None:
    (home / "nessie-gc.toml").write_text(SETTINGS + ENTRY.format(label="only", lake=lake.name))
    assert 0 == run("what-if").exit_code
