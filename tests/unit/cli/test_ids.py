"""Ids are taken as plain arguments, without the name of an option."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

from nessie_gc_core.cli.arguments import IdArgument
from nessie_gc_core.cli.command import GcOption, commands_of
from nessie_gc_core.cli.main import cli

DEFERRED = ("deferred-deletes", "--repository", "memory", "--engine", "local")
OTHER = "00000000-0000-4000-8000-000000000000"


def mark(run: Run) -> str:
    return str(json.loads(run("mark", "--repository", "memory", "-c", "1", "--json").stdout)["live_set_id"])


def test_every_option_for_one_id_of_a_live_set_or_a_run_has_a_short_form() -> None:
    with_option = {
        name
        for name, command in commands_of(cli).items()
        if {"--live-set-id", "--run"} & {long for option in command.params for long in option.opts}
    }
    short = {
        name
        for name, command in commands_of(cli).items()
        if any(isinstance(each, IdArgument) for each in command.params)
    }
    wanted = {"delete", "deferred-deletes", "list-deferred", "purge", "restore", "schedule history", "show", "sweep"}
    assert (wanted, wanted) == (with_option, short)


def test_a_sweep_and_what_it_deferred_take_an_id(run: Run, lake: MemoryLake) -> None:
    id_ = mark(run)
    swept = json.loads(run("sweep", *COLLECT, "--defer-deletes", id_, "--json").stdout)
    assert id_ == swept["live_set_id"]
    assert swept["deferred"]["files"] == len(json.loads(run("list-deferred", id_, "--json").stdout)["files"])
    assert id_ == json.loads(run("show", id_, "--json").stdout)["id"]
    assert swept["deferred"] == json.loads(run(*DEFERRED, id_, "--json").stdout)["deleted"]
    assert id_ in run("delete", id_).stdout
    assert id_ in one_line(run("show", id_))


def test_a_restore_and_a_purge_take_an_id(run: Run, lake: MemoryLake) -> None:
    id_ = json.loads(run("gc", *COLLECT, "-c", "1", "--quarantine", "memory://warehouse/.held/", "--json").stdout)[
        "live_set_id"
    ]
    for command in ("restore", "purge"):
        asked = (command, "--repository", "memory", "--engine", "local", "--dry-run")
        assert [run(*asked, "-l", id_).output] == [run(*asked, id_).output]


@pytest.mark.parametrize(
    "command", ["show", "list-deferred", "sweep", "delete", "restore", "purge", "deferred-deletes"]
)
def test_two_different_ids_are_an_error(run: Run, command: str) -> None:
    other = OTHER.replace("0", "1")
    result = run(command, OTHER, "-l", other)
    assert (2, f"two ids are given: {OTHER} and --live-set-id {other} (see nessie-gc {command} --help)") == (
        result.exit_code,
        one_line(result),
    )


def test_the_same_id_may_be_given_twice(run: Run, lake: MemoryLake) -> None:
    id_ = mark(run)
    assert id_ == json.loads(run("show", id_.upper(), "-l", id_, "--json").stdout)["id"]


def test_an_id_and_a_file_with_one_are_an_error(run: Run, lake: MemoryLake, home: Path) -> None:
    (home / "id").write_text(OTHER)
    assert "mutually exclusive" in one_line(run("show", OTHER, "-L", "id"))


def test_an_argument_wins_over_the_environment_and_the_file(run: Run, lake: MemoryLake, home: Path) -> None:
    id_ = mark(run)
    assert id_ == json.loads(run("show", id_, "--json", env={"NESSIE_GC_LIVE_SET_ID": OTHER}).stdout)["id"]
    (home / "nessie-gc.toml").write_text(f'live-set-id = "{OTHER}"\n')
    assert id_ == json.loads(run("show", id_, "--json").stdout)["id"]
    assert OTHER in one_line(run("show"))


def test_the_beginning_of_an_id_is_enough_to_look(run: Run, lake: MemoryLake) -> None:
    id_ = mark(run)
    assert id_ == json.loads(run("show", id_[:8], "--json").stdout)["id"]
    assert f"{id_[:7]!r} is not an id, or 8 or more digits of one" in one_line(run("show", id_[:7]))


@pytest.mark.parametrize("command", ["sweep", "delete", "restore", "purge", "deferred-deletes"])
def test_what_deletes_takes_a_whole_id_only(run: Run, lake: MemoryLake, command: str) -> None:
    id_, before = mark(run), lake.paths()
    result = run(command, id_[:18])
    assert (2, f"{id_[:18]!r} is not a whole id (see nessie-gc {command} --help)") == (
        result.exit_code,
        one_line(result),
    )
    assert (before, id_) == (lake.paths(), json.loads(run("list", "--json").stdout)["live_sets"][0]["id"])


@pytest.mark.parametrize("text", ["beef", "", "now", OTHER + "0", "g" * 32])
def test_what_is_no_id_is_refused(run: Run, text: str) -> None:
    result = run("sweep", text)
    assert 2 == result.exit_code


def test_help_shows_the_short_form(run: Run) -> None:
    for command in ("sweep", "show", "delete"):
        text = run(command, "--help").stdout
        assert f"Usage: nessie-gc {command} [OPTIONS] [ID]" in text
        assert "the same as --live-set-id." in " ".join(text.split()).replace("live-set- id", "live-set-id")


def test_the_next_step_of_a_mark_is_the_short_form(run: Run, lake: MemoryLake) -> None:
    said = run("mark", "--repository", "memory", "-c", "1").stdout
    (then,) = re.findall(r"'nessie-gc (sweep [-0-9a-f]{36} [^']*)' deletes it", said)
    assert 0 == run(*then.split(), *COLLECT).exit_code


def test_the_option_stays_in_the_environment_and_the_file() -> None:
    sweep = commands_of(cli)["sweep"]
    option = next(each for each in sweep.params if isinstance(each, GcOption) and each.name == "live_set_id")
    assert ("live-set-id", "NESSIE_GC_LIVE_SET_ID", False) == (option.key, option.envvar, option.required)
    assert isinstance(option, click.Option)
