from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import ClassVar

import pytest
from cli_runs import Run
from click.testing import CliRunner
from nessie_gc_memory import MemoryLake

from nessie_gc_core import ConnectorOptions, hookimpl, option, options
from nessie_gc_core.api import Run as ServiceRun
from nessie_gc_core.cli.command import GcCommand
from nessie_gc_core.cli.main import Program, cli
from nessie_gc_core.cli.service_commands import service_commands
from nessie_gc_core.connectors import AnyService, Service
from nessie_gc_core.errors import PluginError
from nessie_gc_core.plugins import PluginRegistry, installed


class Order(StrEnum):
    UP = "up"
    DOWN = "down"


@options
class CountParameters(ConnectorOptions):
    """How references are counted."""

    at_least: int = option(0, flag="-n", minimum=0, help="Fail where there are fewer references than this.")
    order: Order = option(Order.UP, help="How their names are sorted.")
    wait: timedelta = option(timedelta(seconds=1), help="How long to wait first.")


@dataclass(frozen=True)
class Counted:
    names: list[str]
    exit_code: int

    def to_dict(self) -> Mapping[str, object]:
        return {"references": len(self.names), "names": self.names, "exit_code": self.exit_code}


@dataclass(frozen=True)
class CountReferences(Service[ServiceRun]):
    """Count the references of a repository.

    Every branch and every tag is one.

    Args:
        parameters: this is not part of the help.
    """

    name: ClassVar[str] = "count-references"
    aliases: ClassVar[tuple[str, ...]] = ("count",)
    Parameters: ClassVar[type[ConnectorOptions]] = CountParameters
    uses_files: ClassVar[bool] = False
    lasting_store: ClassVar[bool] = False

    parameters: CountParameters

    def run(self, run: ServiceRun) -> Counted:
        names = sorted(reference.name for reference in run.repository.references())
        ordered = names if self.parameters.order is Order.UP else names[::-1]
        return Counted(ordered, 0 if len(names) >= self.parameters.at_least else 1)


class Plugin:
    @hookimpl
    def nessie_gc_register_service(self) -> AnyService:
        return CountReferences


@pytest.fixture
def program() -> Iterator[Program]:
    """The program of an installation that has one service more."""
    installed().register(Plugin(), name="counting")
    yield Program({})
    installed().unregister("counting")


def invoke(program: Program, *arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    result = CliRunner().invoke(program, list(arguments), env=env, terminal_width=200)
    return result.exit_code, result.stdout


def test_a_service_of_a_plugin_is_a_command(program: Program, lake: MemoryLake) -> None:
    lake.branch("dev", "main")
    code, printed = invoke(program, "count-references", "--repository", "memory", "--order", "down", "--json")
    assert (0, {"format": 1, "references": 2, "names": ["main", "dev"], "exit_code": 0}) == (code, json.loads(printed))


def test_it_has_its_alias_its_short_flags_its_variables_and_its_exit_code(program: Program, lake: MemoryLake) -> None:
    assert (1, 2) == (
        invoke(program, "count", "--repository", "memory", "-n", "2")[0],
        invoke(program, "count", "--repository", "memory", "-n", "-1")[0],
    )
    variable = {"NESSIE_GC_AT_LEAST": "2"}
    assert 1 == invoke(program, "count", "--repository", "memory", env=variable)[0]


def test_without_json_its_report_is_printed_line_by_line(program: Program, lake: MemoryLake) -> None:
    _, printed = invoke(program, "count", "--repository", "memory")
    assert ["references: 1", "names: ['main']", "exit code: 0"] == printed.splitlines()


def test_the_program_lists_the_services_and_then_its_own_commands_each_with_its_whole_first_sentence(
    program: Program,
) -> None:
    long = GcCommand("own", lambda call: 0, (), help=f"Do{' a lot' * 40}. And more.")
    _, printed = invoke(Program({"Own": [long]}), "--help")
    services, own = printed.partition("Services:")[2].split("Own:")
    assert "Count the references of a repository." in services
    assert f"own Do{' a lot' * 40}." == " ".join(own.split())


def test_its_help_is_its_docstring_and_it_has_no_option_that_it_does_not_use(program: Program) -> None:
    _, printed = invoke(program, "count-references", "--help")
    assert "Count the references of a repository." in printed
    assert "Every branch and every tag is one." in printed
    assert "this is not part of the help" not in printed
    assert "--engine" not in printed
    assert "--iceberg" not in printed
    assert "-n, --at-least INTEGER RANGE" in printed
    assert "[default: PT1S]" in printed


def test_a_service_that_works_on_something_of_its_own_has_no_option_about_repository_store_or_files() -> None:
    alone = type("Alone", (CountReferences,), {"uses_repository": False, "uses_files": True})
    (command,) = service_commands([alone])
    sections = {section for option in command.params if (section := getattr(option, "section", ""))}
    assert {"Plugins", "Common options"} == sections


def test_a_command_whose_plugin_is_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nessie_gc_core.cli.main.installed", PluginRegistry)
    assert 2 == Program({}).main(["internal-gc"], standalone_mode=False)
    assert "pip install nessie-gc-internal" in capsys.readouterr().err


def test_it_runs_where_no_store_could_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    class Alone(CountReferences):
        uses_repository: ClassVar[bool] = False
        name: ClassVar[str] = "alone"
        aliases: ClassVar[tuple[str, ...]] = ()

        def run(self, run: ServiceRun) -> Counted:
            return Counted([], 0)

    class Brings:
        @hookimpl
        def nessie_gc_register_service(self) -> AnyService:
            return Alone

    monkeypatch.setenv("NESSIE_GC_INMEMORY", "true")
    installed().register(Brings(), name="alone")
    try:
        code, _ = invoke(Program({}), "alone")
    finally:
        installed().unregister("alone")
    assert 0 == code


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"name": "Count References"}, "is not a valid command name"),
        ({"name": None}, "is not a valid command name"),
        ({"Parameters": dict}, "'Parameters' is not a subclass of ConnectorOptions"),
        ({"run": Service.run}, "does not implement run"),
    ],
)
def test_a_service_that_no_command_could_be_made_of_breaks_its_plugin_by_name(
    attributes: dict[str, object], said: str
) -> None:
    wrong = type("Wrong", (CountReferences,), attributes)

    class Wrong:
        @hookimpl
        def nessie_gc_register_service(self) -> object:
            return wrong

    registry = PluginRegistry()
    with pytest.raises(PluginError, match=said):
        registry.register(Wrong(), name="wrong")
    assert {} == registry.services.by_name()
    assert ["wrong"] == [plugin.name for plugin in registry.broken]


def test_two_services_of_one_name_are_an_error_that_names_both_plugins() -> None:
    registry = PluginRegistry()
    registry.register(Plugin(), name="one")
    registry.register(Plugin(), name="other")
    with pytest.raises(PluginError, match="'count' is claimed by the plugins 'one' and 'other'"):
        registry.services.named("count")
    assert {} == registry.services.by_name()
    assert {} == registry.without(["one", "other"]).services.by_name()


def test_a_service_that_is_claimed_twice_stops_nobody_else(program: Program, lake: MemoryLake) -> None:
    installed().register(Plugin(), name="counting too")
    try:
        again = Program({})
        assert (2, "") == invoke(again, "count", "--repository", "memory")
        assert 0 == invoke(again, "mark", "--help")[0]
    finally:
        installed().unregister("counting too")


def test_a_service_with_the_name_of_a_command_is_said_to_be_hidden(
    program: Program, caplog: pytest.LogCaptureFixture
) -> None:
    own = GcCommand("count-references", lambda call: 0, (), help="The program's own.")
    assert "The program's own." in invoke(Program({"Own": [own]}), "count-references", "--help")[1]
    assert ["the service 'count-references' has the same name as a command, which hides it; run it from Python"] == [
        record.getMessage() for record in caplog.records
    ]


def test_the_services_of_the_core_come_by_the_same_hook(run: Run) -> None:
    assert {"gc", "mark", "sweep", "deferred-deletes"} <= set(installed().services.by_name())
    assert 0 == run("identify", "--help").exit_code


def test_the_help_of_gc_says_first_that_it_deletes_and_shows_calls(run: Run) -> None:
    lines = run("gc", "--help").stdout.splitlines()
    assert lines[2].startswith("  Delete the files that no live branch, tag or snapshot needs")
    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert ["Examples:", "Repository:", "Mark:"] == headings[:3]
    assert headings.index("Live-set store:") > headings.index("Safety limits:")


@pytest.mark.parametrize("service", installed().services.by_name().values(), ids=lambda service: service.name)
def test_the_examples_of_a_command_can_be_called(service: AnyService) -> None:
    for example in service.examples:
        name, *arguments = shlex.split(example)
        command = cli.commands[name]
        context = command.make_context(name, arguments, resilient_parsing=False)
        assert service.name == name
        assert f"nessie-gc {example}" in command.get_help(context)
