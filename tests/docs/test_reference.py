from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
import tomllib

import click
import pyarrow as pa
import pytest
from docs.pages import DOCS, ROOT

from nessie_gc_core import errors, hookspecs
from nessie_gc_core.cli.command import commands_of
from nessie_gc_core.cli.main import cli
from nessie_gc_core.model import relations
from nessie_gc_core.plugins.registry import KINDS, installed
from nessie_gc_core.services.report import GcReport

COMMANDS = commands_of(cli)
REFERENCE = DOCS / "reference"
OWN = {"nessie_gc_core", *(path.parent.name.replace("-", "_") for path in ROOT.glob("plugins/*/pyproject.toml"))}


WITHOUT_A_FILE = {
    "report": "reads the table of assets, as delete-unreferenced does",
    "internal-gc": "works on Nessie's database",
    "import-java": "works on a database",
    "make-lake": "is for tests",
}
"""Services that no policy file names, and why."""


def _text(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def _section(text: str, heading: str) -> str:
    """The text below a heading, down to the next heading of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    lines = text.splitlines()
    assert heading in lines, f"no heading {heading!r}"
    below = lines[lines.index(heading) + 1 :]
    ends = [n for n, line in enumerate(below) if line.startswith("#") and len(line.split(" ")[0]) <= level]
    return "\n".join(below[: ends[0]] if ends else below)


def test_the_reference_is_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert "up to date\n" == done.stdout, f"run 'python docs/generate.py': {done.stdout}{done.stderr}"


def test_every_hook_has_a_heading() -> None:
    hooks = [name for name in vars(hookspecs) if name.startswith("nessie_gc_")]
    assert hooks
    for hook in hooks:
        assert f"### {hook}" in _text("contracts.md").splitlines()


def test_every_contract_and_every_method_of_it_has_a_heading() -> None:
    for contract in KINDS:
        section = _section(_text("contracts.md"), f"### {contract.__name__}")
        for method in contract.__abstractmethods__:
            assert f"#### {contract.__name__}.{method}" in section.splitlines()


@pytest.mark.parametrize("contract", KINDS, ids=lambda contract: contract.__name__)
def test_every_connector_has_a_heading_and_each_of_its_options_an_entry(contract) -> None:
    for name, connector in installed().connectors(contract).items():
        if connector.__module__.partition(".")[0] in OWN:
            section = _section(_text("connectors.md"), f"### {KINDS[contract][0]} {name}")
            for field in dataclasses.fields(connector.Options):
                assert f"| `{field.name}`" in section
                assert field.metadata.get("help"), f"{name}.{field.name} has no help"


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_a_heading_and_each_of_its_options_an_entry(name: str) -> None:
    command = COMMANDS[name]
    section = _section(_text("command-line.md"), f"### nessie-gc {name}")
    options = _section(_text("command-line.md"), "## Options")
    for alias in getattr(command, "aliases", ()):
        assert f"`{alias}`" in section
    for param in command.params:
        if isinstance(param, click.Option) and not param.hidden:
            long = next(option for option in param.opts if option.startswith("--"))
            assert f"`{long}`" in section
            assert all(f"`{option}`" in options for option in (*param.opts, *param.secondary_opts))
            assert param.help, f"{name} {long} has no help"


def test_options_that_are_refused_say_so_on_the_page_of_the_java_tool() -> None:
    hidden = {
        option
        for command in COMMANDS.values()
        for param in command.params
        if isinstance(param, click.Option) and param.hidden
        for option in param.opts
    }
    assert hidden
    assert [] == [option for option in hidden if f"`{option}`" not in _text("java-tool.md")]


def test_every_relation_has_a_heading_and_each_of_its_columns_an_entry() -> None:
    for name, schema in vars(relations).items():
        if isinstance(schema, pa.Schema):
            section = _section(_text("relations.md"), f"## {name}")
            assert [] == [column for column in schema.names if f"| `{column}` |" not in section]


def test_every_field_of_the_report_has_an_entry_with_a_text() -> None:
    rows = [line for line in _text("report.md").splitlines() if line.startswith("| `")]
    for name in GcReport().to_dict():
        row = next(row for row in rows if row.startswith(f"| `{name}` |"))
        assert row.removeprefix(f"| `{name}` |").strip(" |")


def test_every_error_has_an_entry() -> None:
    names = [n for n, e in vars(errors).items() if isinstance(e, type) and issubclass(e, errors.NessieGcError)]
    assert [] == [name for name in names if f"| `{name}` |" not in _text("contracts.md")]


def test_every_service_is_in_the_title_of_a_policy_file_or_says_why_not() -> None:
    uses = tomllib.loads((ROOT / "examples" / "rights" / "rights.toml").read_text(encoding="utf-8"))
    quoted = [each for use in uses.values() for each in re.findall("`([^`]+)`", use["title"])]
    installed_ones = installed().services.by_name().values()
    services = {service.name for service in installed_ones if service.__module__.partition(".")[0] in OWN}
    assert services == ({each.split()[0] for each in quoted} & services) | WITHOUT_A_FILE.keys()
