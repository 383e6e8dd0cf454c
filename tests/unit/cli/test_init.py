from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from cli_runs import Run, one_line

from nessie_gc_core.api import Collector
from nessie_gc_core.cli.command import GcOption, commands_of
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.file import ConfigFile

SECRET = "hunter2-never-to-be-seen"
COMMANDS = [commands_of(cli)[name] for name in ("gc", "prune")]
KNOWN = {option.key for command in COMMANDS for option in command.params if isinstance(option, GcOption)}


def uncommented(text: str) -> str:
    """The file with all its examples set."""
    return re.sub(r'^# (\[[a-z-]+\]$|"[^"]+" = |[a-z-]+ = )', r"\1", text, flags=re.MULTILINE)


def test_a_file_is_written_that_says_what_to_do_next(run: Run, home: Path) -> None:
    result = run("init")
    assert (0, "") == (result.exit_code, result.stderr)
    said = "wrote nessie-gc.toml\nnext: edit it, then run 'nessie-gc check' and 'nessie-gc gc --dry-run'\n"
    assert said == result.stdout
    assert {} == tomllib.loads((home / "nessie-gc.toml").read_text())


def test_every_key_of_the_file_is_known_and_every_example_fits(run: Run, home: Path) -> None:
    examples = uncommented(run("init", "-").stdout)
    (home / "all.toml").write_text(examples)
    keys = set(ConfigFile.read(home / "all.toml", KNOWN).options)
    assert {"uri", "repository", "allow", "default-cutoff", "min-age", "store", "engine", "iceberg"} <= keys
    Collector.from_toml(home / "all.toml").close()
    assert 0 == run("config", "show", "--config", "all.toml").exit_code


def test_it_is_short_enough_to_be_read(run: Run) -> None:
    lines = run("init", "-").stdout.splitlines()
    assert len(lines) < 80
    assert max(map(len, lines)) <= 100


def test_it_points_to_everything_else(run: Run) -> None:
    text = run("init", "-").stdout
    assert "nessie-gc config show" in text
    assert "nessie-gc gc --help" in text


def test_a_file_that_exists_is_never_written_over(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text("# mine\n")
    result = run("init")
    assert (1, "nessie-gc.toml already exists; name another file, or remove it") == (result.exit_code, one_line(result))
    assert "# mine\n" == (home / "nessie-gc.toml").read_text()


@pytest.mark.parametrize("place", [("lake.toml",), ("--output-file", "lake.toml"), ("-O", "lake.toml")])
def test_the_file_can_have_another_name(run: Run, home: Path, place: tuple[str, ...]) -> None:
    result = run("init", *place)
    assert "run 'nessie-gc check --config lake.toml'" in result.stdout
    assert (home / "lake.toml").is_file()


def test_two_names_for_the_file_are_refused(run: Run) -> None:
    assert "name the file once" in one_line(run("init", "a.toml", "-O", "b.toml"))


def test_what_is_given_is_set_in_the_file(run: Run, home: Path) -> None:
    given = (
        *("--uri", "http://lake/api/v2", "--allow", "s3://a/", "--allow", "s3://b/", "--min-age", "P2D"),
        *("--engine", "local", "--strict-unknown", "--max-deletes", "7", "-I", "s3.endpoint=http://localhost:9000"),
    )
    assert "wrote nessie-gc.toml, with uri, allow, min-age, engine, iceberg.s3.endpoint" in run("init", *given).stdout
    expected = {
        "uri": "http://lake/api/v2",
        "allow": ["s3://a/", "s3://b/"],
        "min-age": "P2D",
        "engine": "local",
        "strict-unknown": True,
        "max-deletes": 7,
        "iceberg": {"s3.endpoint": "http://localhost:9000"},
    }
    assert expected == tomllib.loads((home / "nessie-gc.toml").read_text())
    assert "max-deletes  7" in re.sub(" +", "  ", run("config", "show").stdout)


def test_odd_characters_of_a_value_survive(run: Run, home: Path) -> None:
    odd = 's3://a "b"\\ü\x7f\n/'
    run("init", "--allow", odd)
    assert [odd] == tomllib.loads((home / "nessie-gc.toml").read_text())["allow"]


def test_values_of_the_environment_stay_there(run: Run, home: Path) -> None:
    run("init", env={"NESSIE_GC_URI": "http://lake/api/v2"})
    assert {} == tomllib.loads((home / "nessie-gc.toml").read_text())


SECRETS = {
    "token": (("--token", SECRET), "NESSIE_GC_TOKEN"),
    "iceberg.s3.secret-access-key": (("-I", f"s3.secret-access-key={SECRET}"), "NESSIE_GC_ICEBERG"),
    "repository-option.password": (("-r", f"password={SECRET}"), "NESSIE_GC_REPOSITORY_PASSWORD"),
    "store-option.password": (("--store-option", f"password={SECRET}"), "NESSIE_GC_STORE_PASSWORD"),
    "nessie-option.nessie.authentication.token": (
        ("-o", f"nessie.authentication.token={SECRET}"),
        "NESSIE_GC_NESSIE_OPTION",
    ),
    "jdbc-url": (("--jdbc-url", f"postgresql://me:{SECRET}@db/x"), "NESSIE_GC_JDBC_URL"),
    "uri": (("--uri", f"https://me:{SECRET}@lake/api/v2"), "NESSIE_GC_URI"),
    "connector-option": (
        ("--connector-option", f"file-lister:memory:lake={SECRET}"),
        "NESSIE_GC_CONNECTOR_OPTION",
    ),
}


@pytest.mark.parametrize("key", SECRETS)
def test_secrets_are_not_written_and_their_variable_is_named(run: Run, home: Path, key: str) -> None:
    arguments, variable = SECRETS[key]
    result = run("init", *arguments, "--json")
    assert {key: variable} == json.loads(result.stdout)["left_out"]
    text = (home / "nessie-gc.toml").read_text()
    assert SECRET not in text + result.output
    assert f"# {key} was given and may be secret: set {variable}" in text
    (home / "nessie-gc.toml").unlink()
    assert f"set the environment variable {variable}" in run("init", *arguments).stdout


def test_options_of_connectors_that_are_no_secrets_are_written(run: Run, home: Path) -> None:
    run("init", "--store-option", "fetch_size=7", "-r", "retries=2", "--jdbc-url", "sqlite:////data/x.db")
    expected = {
        "jdbc-url": "sqlite:////data/x.db",
        "store-option": {"fetch_size": "7"},
        "repository-option": {"retries": "2"},
    }
    assert expected == tomllib.loads((home / "nessie-gc.toml").read_text())


def test_s27_an_option_of_a_connector_that_is_not_understood_is_an_error(run: Run, home: Path) -> None:
    assert "unknown option 'retires'" in one_line(run("init", "-r", "retires=2"))
    assert not (home / "nessie-gc.toml").exists()


def test_it_is_told_as_json_too(run: Run, home: Path) -> None:
    result = json.loads(run("init", "--allow", "s3://a/", "--json").stdout)
    expected = {
        "format": 1,
        "file": "nessie-gc.toml",
        "written": ["allow"],
        "left_out": {},
        "next": ["nessie-gc check", "nessie-gc gc --dry-run"],
    }
    assert expected == result
    assert run("init", "-", "--allow", "s3://a/").stdout == (home / "nessie-gc.toml").read_text()
    printed = json.loads(run("init", "-", "--allow", "s3://a/", "--json").stdout)
    assert (home / "nessie-gc.toml").read_text() == printed["text"]
