from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

MARK = ("mark", "--repository", "memory", "--json")


def test_a_store_is_chosen_by_its_name_and_options(run: Run, lake: MemoryLake, home: Path) -> None:
    store = ("--store", "jdbc", "--store-option", f"url=sqlite:///{home}/x.db")
    id_ = json.loads(run(*MARK, *store).stdout)["live_set_id"]
    assert [id_] == [found["id"] for found in json.loads(run("list", *store, "--json").stdout)["live_sets"]]
    same = ("--jdbc-url", f"sqlite:///{home}/x.db")
    assert [id_] == [found["id"] for found in json.loads(run("list", *same, "--json").stdout)["live_sets"]]
    assert [] == json.loads(run("list", "--json").stdout)["live_sets"]


def test_the_environment_names_the_store_and_keeps_its_secrets(run: Run, lake: MemoryLake, home: Path) -> None:
    environment = {"NESSIE_GC_STORE": "jdbc", "NESSIE_GC_STORE_URL": f"sqlite:///{home}/x.db"}
    assert 0 == run(*MARK, env=environment).exit_code
    assert (home / "x.db").is_file()


def test_a_store_in_memory_serves_one_run_by_either_name(run: Run, lake: MemoryLake) -> None:
    collected = run("gc", *COLLECT, "--store", "memory", "--json")
    assert (0, False) == (collected.exit_code, json.loads(run("list", "--json").stdout)["live_sets"] != [])


@pytest.mark.parametrize("command", [("list",), MARK])
def test_a_store_in_memory_is_refused_where_the_live_set_is_to_last(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, "--store", "memory")
    assert 2 == result.exit_code
    assert "--store memory keeps a live set for one process only" in result.stderr


def test_the_error_about_an_option_of_the_store_lists_the_valid_ones(run: Run) -> None:
    result = run("list", "--store-option", "uri=hunter2")
    assert 2 == result.exit_code
    said = one_line(result)
    assert said.startswith("live-set-store 'jdbc': unknown option 'uri'; known options are: fetch_size, password,")
    assert "hunter2" not in said


def test_the_help_names_the_store_first(run: Run) -> None:
    shown = run("list", "-h").stdout.partition("Live-set store:")[2]
    assert ["--store", "--store-option"] == [word for word in shown.split() if word.startswith("--")][:2]
