from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

from nessie_gc_core.cli.command import GcOption, commands_of
from nessie_gc_core.cli.main import cli

GC = ("gc", *COLLECT, "--inmemory", "--dry-run", "--json")
COMMANDS = commands_of(cli).values()
OPTIONS = {option.key: option for command in COMMANDS for option in command.params if isinstance(option, GcOption)}


def policy_used(run: Run, home: Path, *, line: bool, environment: bool, file: bool) -> str:
    """Says three bad policies at once; the error names the one that was used."""
    if file:
        (home / "nessie-gc.toml").write_text('default-cutoff = "from-the-file"\n')
    env = {"NESSIE_GC_DEFAULT_CUTOFF": "from-the-environment"} if environment else {}
    arguments = ("-c", "from-the-line") if line else ()
    result = run(*GC, *arguments, env=env)
    return one_line(result).split("'")[1] if result.exit_code else "default"


@pytest.mark.parametrize(("line", "environment", "file"), list(itertools.product([True, False], repeat=3)))
def test_command_line_then_environment_then_file_then_default(
    run: Run, lake: MemoryLake, home: Path, line: bool, environment: bool, file: bool
) -> None:
    expected = (
        "from-the-line" if line else "from-the-environment" if environment else "from-the-file" if file else "default"
    )
    assert expected == policy_used(run, home, line=line, environment=environment, file=file)


@pytest.mark.parametrize("key", sorted(OPTIONS))
def test_every_option_has_its_variable(key: str) -> None:
    assert "NESSIE_GC_" + key.replace("-", "_").upper() == OPTIONS[key].envvar


def test_an_option_means_the_same_in_every_command() -> None:
    kinds: dict[str, set[tuple[str, bool]]] = {}
    for command in COMMANDS:
        for option in command.params:
            if isinstance(option, GcOption):
                kinds.setdefault(option.key, set()).add((type(option.type).__name__, option.multiple))
    assert {} == {key: found for key, found in kinds.items() if len(found) > 1}


def test_every_command_has_the_standard_options() -> None:
    for command in COMMANDS:
        flags = {flag for option in command.params for flag in option.opts}
        assert {"-v", "-q", "--version", "-V", "--config"} <= flags
        assert command.context_settings["help_option_names"] == ["-h", "--help"]


def test_pairs_come_from_all_sources_and_the_strongest_wins_for_each_key(
    run: Run, lake: MemoryLake, home: Path
) -> None:
    (home / "nessie-gc.toml").write_text('[repository-option]\nlake = "nowhere"\nwrong = "x"\n')
    result = run(*GC, "-r", "lake=default", env={"NESSIE_GC_REPOSITORY_OPTION": "history_file=/nowhere"})
    assert "unknown option 'wrong'" in one_line(result)
    (home / "nessie-gc.toml").write_text('[repository-option]\nlake = "nowhere"\n')
    assert 1 == json.loads(run(*GC, "-r", "lake=default").stdout)["unreferenced"]["files"]
    assert 0 == json.loads(run(*GC).stdout)["references"]


def test_the_stronger_of_two_options_that_exclude_each_other_wins(run: Run, lake: MemoryLake) -> None:
    env = {"NESSIE_GC_JDBC_URL": "postgresql://nobody@127.0.0.1:1/none"}
    assert 0 == run(*GC, env=env).exit_code


def test_a_repeated_option_takes_a_list_in_the_file_and_commas_in_the_environment(
    run: Run, lake: MemoryLake, home: Path
) -> None:
    (home / "nessie-gc.toml").write_text('allow = ["memory://a/", "ftp://from-the-file/"]\n')
    assert "ftp://from-the-file/" in one_line(run(*GC))
    env = {"NESSIE_GC_ALLOW": "memory://a/,ftp://from-the-environment/"}
    assert "ftp://from-the-environment/" in one_line(run(*GC, env=env))


def test_another_repository_on_the_command_line_does_not_get_the_tables_options(
    run: Run, lake: MemoryLake, home: Path
) -> None:
    (home / "nessie-gc.toml").write_text('[repository]\nname = "nessie"\nuri = "http://x/api/v2"\n')
    assert 0 == run(*GC).exit_code


def test_options_of_connectors_come_from_their_tables(run: Run, lake: MemoryLake, home: Path) -> None:
    (home / "other.toml").write_text(
        '[repository]\nname = "memory"\nlake = "default"\n[store]\nname = "memory"\nstore = "shared by a test"\n'
        '[connectors.file-lister.memory]\nlake = "empty"\n'
    )
    marked = run("mark", "--config", "other.toml", "--json")
    assert 0 == marked.exit_code, marked.stderr
    live_set_id = json.loads(marked.stdout)["live_set_id"]
    assert live_set_id in run("list", "--config", "other.toml").stdout
    swept = run("sweep", "--config", "other.toml", *COLLECT[2:], "-l", live_set_id, "--json")
    assert "the listing shows none of the expected files" in json.loads(swept.stdout)["unknown"][0]["reason"]


def test_a_repository_gets_its_options_from_the_environment(run: Run, lake: MemoryLake) -> None:
    result = run(*GC, env={"NESSIE_GC_REPOSITORY_LAKE": "nowhere"})
    assert 0 == json.loads(result.stdout)["references"]
    stronger = run(*GC, "-r", "lake=default", env={"NESSIE_GC_REPOSITORY_LAKE": "nowhere"})
    assert 1 == json.loads(stronger.stdout)["references"]
