"""S27: a misspelt property of a store or a catalog is an error wherever it is given, and a strange one is a warning."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli_runs import go_home
from click.testing import CliRunner, Result
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core import Collector, ConnectorOptions, hookimpl, options
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.property_names import check_names
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.known_names import KnownNames
from nessie_gc_core.model.options import secret_mapping
from nessie_gc_core.plugins import PluginRegistry

GC = ("gc", "--repository", "memory", "--engine", "local", "--inmemory", "--dry-run")
SAID = "unknown property 's3.endpont'; did you mean 's3.endpoint'?"
STRANGE = "no installed plugin knows the property 's3.foo': it has no effect unless a class of your own reads it"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a data folder of its own, and none of the user's settings."""
    return go_home(tmp_path, monkeypatch)


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """The lake that the memory connectors use where no other is named."""
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC), "default") as found:
        table = found.table("db.t", location="memory://warehouse/db/t").append("a.parquet")
        found.commit("main", put(table.version))
        found.now = None
        yield found


def run(*arguments: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, list(arguments), env=env)


def of_catalog(home: Path, table: str = "") -> str:
    (home / "catalog.db").touch()
    file = f"[repository]\nname = 'iceberg-catalog'\nuri = 'sqlite:///{home}/catalog.db'\n{table}"
    (home / "nessie-gc.toml").write_text(file)
    return str(home / "nessie-gc.toml")


# ---- wherever it is given -----------------------------------------------------------------------------
def test_s27_a_misspelt_property_on_the_command_line_is_an_error(lake: MemoryLake) -> None:
    result = run(*GC, "-I", "s3.endpont=http://me:hunter2@host")
    assert (2, "", f"error: --iceberg: {SAID}\n") == (result.exit_code, result.stdout, result.stderr)


def test_s27_a_misspelt_property_in_the_environment_is_an_error(lake: MemoryLake) -> None:
    result = run(*GC, env={"NESSIE_GC_ICEBERG": "s3.region=eu,s3.endpont=hunter2"})
    assert (2, f"error: --iceberg: {SAID}\n") == (result.exit_code, result.stderr)


def test_s27_a_misspelt_property_in_the_file_is_an_error(lake: MemoryLake, home: Path) -> None:
    (home / "nessie-gc.toml").write_text("[iceberg]\n's3.endpont' = 'hunter2'\n")
    result = run(*GC)
    assert (2, f"error: --iceberg: {SAID}\n") == (result.exit_code, result.stderr)


def test_s27_a_misspelt_property_in_python_is_an_error() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Collector(repository="memory", engine="local", iceberg={"s3.endpont": "hunter2"})
    assert f"`iceberg`: {SAID}" == str(caught.value)


@pytest.mark.parametrize("command", [("check", "--engine", "local"), ("schedule", "list")])
@pytest.mark.parametrize(
    "file",
    [
        "[schedule.jobs.a]\nservice = 'gc'\nevery = 'P1D'\noptions = { iceberg = { 's3.endpont' = 'hunter2' } }\n",
        "iceberg = { 's3.endpont' = 'hunter2' }\n[schedule.jobs.a]\nservice = 'gc'\nevery = 'P1D'\n",
    ],
)
def test_s27_a_misspelt_property_of_a_job_is_an_error_before_it_runs(
    lake: MemoryLake, home: Path, command: tuple[str, ...], file: str
) -> None:
    (home / "nessie-gc.toml").write_text(file)
    result = run(*command, env={"NESSIE_GC_REPOSITORY": "memory"})
    assert SAID in result.output
    assert result.exit_code
    assert "hunter2" not in result.output


def test_s27_a_misspelt_property_of_one_connector_is_an_error(lake: MemoryLake, home: Path) -> None:
    said = f"file-lister 'iceberg-files': option 'properties': {SAID}"
    result = run(*GC, "--connector-option", "file-lister:iceberg-files:properties=s3.endpont=hunter2")
    assert (2, f"error: {said}\n") == (result.exit_code, result.stderr)
    (home / "nessie-gc.toml").write_text(
        "[connectors.file-lister.iceberg-files]\nproperties = { 's3.endpont' = 'hunter2' }\n"
    )
    assert f"error: {said}\n" == run(*GC).stderr


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("wharehouse", "warehouse"),
        ("url", "uri"),
        ("credentials", "credential"),
        ("rest.sigv4_enabled", "rest.sigv4-enabled"),
        ("glue.regoin", "glue.region"),
        ("s3.endpont", "s3.endpoint"),
        ("oauth2_server_uri", "oauth2-server-uri"),
    ],
)
@pytest.mark.parametrize("how", ["file", "environment", "command line", "one of several"])
def test_s27_a_misspelt_property_of_a_catalog_is_an_error(home: Path, name: str, near: str, how: str) -> None:
    config = of_catalog(home, f"properties = {{ '{name}' = 'hunter2' }}\n" if how == "file" else "")
    if how == "one of several":
        file = Path(config).read_text().replace("[repository]", "[[repositories]]\nlabel = 'a'")
        Path(config).write_text(f"{file}properties = {{ '{name}' = 'hunter2' }}\n")
    env = {"NESSIE_GC_REPOSITORY_PROPERTIES": f"{name}=hunter2"} if how == "environment" else None
    more = ("-r", f"properties={name}=hunter2") if how == "command line" else ()
    result = run("gc", "--engine", "local", "--dry-run", "--config", config, *more, env=env)
    assert f"option 'properties': unknown property '{name}'; did you mean '{near}'?" in result.stderr
    assert (2, False) == (result.exit_code, "hunter2" in result.output)


# ---- what may be meant --------------------------------------------------------------------------------
def test_s27_another_property_of_a_known_store_is_a_warning_in_the_report(lake: MemoryLake) -> None:
    result = run(*GC, "-I", "s3.foo=hunter2", "--json")
    assert 0 == result.exit_code, result.stderr
    assert f"`iceberg`: {STRANGE}" in json.loads(result.stdout)["warnings"]
    assert "hunter2" not in result.output


def test_s27_check_shows_the_warning_too(lake: MemoryLake) -> None:
    result = run("check", "--repository", "memory", "--engine", "local", "-I", "s3.foo=hunter2")
    (line,) = (line for line in result.stdout.splitlines() if "configuration:" in line)
    assert f"warn    configuration: valid; --iceberg: {STRANGE}" == line
    assert (0, False) == (result.exit_code, "hunter2" in result.output)


def test_s27_check_shows_the_warning_about_a_catalog_too(home: Path) -> None:
    config = of_catalog(home, "properties = { 's3.foo' = 'hunter2' }\n")
    result = run("check", "--engine", "local", "--config", config)
    said = f"warn    configuration: valid; repository 'iceberg-catalog': option 'properties': {STRANGE}"
    assert said in result.stdout.splitlines()
    assert "hunter2" not in result.output


@pytest.mark.parametrize(
    "given",
    [
        "foo.bar=x",
        "s3.endpoint=x,s3.path-style-access=true,client.region=x",
        "fsspec.sftp={}",
        "nessie-gc.trusted-hosts=x",
        "adls.sas-token.account=x",
        "s3.role-arn=x",
    ],
)
def test_s27_known_properties_and_those_of_other_stores_are_silent(lake: MemoryLake, given: str) -> None:
    result = run(*GC, "-I", given, "--json")
    assert 0 == result.exit_code, result.stderr
    assert "property" not in result.stdout + result.stderr


def test_s27_with_a_file_io_of_the_users_own_a_near_name_is_a_warning(lake: MemoryLake) -> None:
    result = run(*GC, "-I", "s3.endpont=hunter2,py-io-impl=mine.FileIO", "--json")
    said = "`iceberg`: no installed plugin knows the property 's3.endpont'; did you mean 's3.endpoint'?"
    assert said in json.loads(result.stdout)["warnings"]


# ---- whose names they are -----------------------------------------------------------------------------
@options
class TapeOptions(ConnectorOptions):
    properties: Mapping[str, str] = secret_mapping(help="properties", known=KnownNames(names=frozenset({"tape.reel"})))


class TapeLister(FileLister):
    name = "tape"
    schemes = frozenset({"tape"})
    Options = TapeOptions

    def list_files(self, location: str) -> Iterator[FileReference]:
        yield from ()


class Tape:
    @staticmethod
    @hookimpl
    def nessie_gc_register_file_lister() -> type[TapeLister]:
        return TapeLister


def test_s27_any_plugin_declares_the_names_that_it_knows() -> None:
    registry = PluginRegistry()
    check_names({"tape.real": "x", "s3.endpont": "x"}, registry)
    registry.register(Tape, name="tape")
    check_names({"tape.reel": "x", "tape.speed": "x", "s3.endpont": "x"}, registry)
    with pytest.raises(ConfigurationError, match=r"unknown property 'tape\.real'; did you mean 'tape\.reel'"):
        check_names({"tape.real": "x"}, registry)
    check_names({"tape.real": "x"}, registry.without(["tape"]))
