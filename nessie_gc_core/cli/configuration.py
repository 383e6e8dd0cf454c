"""The commands about the configuration: ``init`` and ``config show``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from functools import partial

import click

from nessie_gc_core.api.opening import engine_name
from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import SETTINGS, Call, GcCommand, GcOption, json_option
from nessie_gc_core.cli.declared import options_of
from nessie_gc_core.cli.output import print_json, say, write_new
from nessie_gc_core.cli.values import Text
from nessie_gc_core.config.file import DEFAULT_FILE
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.config.origins import Origin, of_other_commands, origins
from nessie_gc_core.config.settings import (
    COMMAND_LINE_ONLY,
    EngineSettings,
    FileSettings,
    PluginSettings,
    PruneSettings,
    RepositorySettings,
    StoreSettings,
)
from nessie_gc_core.config.settings import SETTINGS as ALL_SETTINGS
from nessie_gc_core.config.starter import Starter, starter
from nessie_gc_core.model.next_steps import command_line, next_command
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.parameters import GcParameters

GROUPS: tuple[type[ConnectorOptions], ...] = (
    RepositorySettings,
    GcParameters,
    StoreSettings,
    FileSettings,
    EngineSettings,
    PluginSettings,
)
"""What ``gc`` takes."""


# ---- init ---------------------------------------------------------------------------------------------
def init(call: Call) -> int:
    """Write a first configuration file, with a comment for each setting.

    The values of the options that you give are set in it; secrets are left out. An existing file is never overwritten.
    """
    path = _path(call)
    given = call.given()
    registry = installed().without(given.settings(PluginSettings).disable_plugin)
    made = starter(given, (*GROUPS, PruneSettings), registry)
    if path == "-":
        _print_file(made, as_json=call.session.as_json)
        return 0
    write_new(path, made.text)
    more = () if path == DEFAULT_FILE else ("--config", path)
    check, gc = ("check", *more), ("gc", "--dry-run", *more)
    if call.session.as_json:
        said = {
            "file": path,
            "written": list(made.written),
            "left_out": dict(made.left_out),
            "next": [command_line(*check), command_line(*gc)],
        }
        print_json(said)
        return 0
    say(f"wrote {path}" + (f", with {', '.join(made.written)}" if made.written else ""))
    for key, variable in made.left_out.items():
        say(f"{key} may be secret and is not in it: set the environment variable {variable}")
    call.session.options = None  # they are in the file now
    say(f"next: edit it, then run {next_command(*check)} and {next_command(*gc)}")
    return 0


def _path(call: Call) -> str:
    paths = [path for path in (call.text("path"), call.text("output_file")) if path]
    if len(paths) > 1:
        raise click.UsageError("name the file once: as the argument, or with --output-file")
    return paths[0] if paths else DEFAULT_FILE


def _print_file(made: Starter, *, as_json: bool) -> None:
    if as_json:
        print_json({"text": made.text, "written": list(made.written), "left_out": dict(made.left_out)})
    else:
        click.echo(made.text, nl=False)


# ---- config show --------------------------------------------------------------------------------------
def show(call: Call) -> int:
    """Show the settings in effect, and where each of them comes from.

    Takes the options of 'gc'. Settings with default values are shown only with --all; secrets are always hidden.
    """
    given = call.given()
    registry = installed().without(given.settings(PluginSettings).disable_plugin)
    found = [*map(partial(_in_effect, given), origins(given, GROUPS, registry)), *_of_others(call)]
    shown = [origin for origin in found if origin.rank is not Rank.DEFAULT or call.flag("all")]
    if call.session.as_json:
        print_json({"config_file": given.file.name or None, "settings": [origin.to_dict() for origin in shown]})
        return 0
    say(f"configuration file: {given.file.name}" if given.file.name else "no configuration file")
    _print_sections(shown)
    hidden = len(found) - len(shown)
    if hidden:
        say("")
        say(f"{hidden} other settings have their defaults; --all shows them")
    return 0


def _in_effect(given: Given, origin: Origin) -> Origin:
    """The same, but for the engine that a run takes if nobody chose one and PySpark is not installed."""
    if origin.name != "engine" or origin.rank is not Rank.DEFAULT:
        return origin
    return dataclasses.replace(origin, value=engine_name(given).value)


def _of_others(call: Call) -> Iterable[Origin]:
    groups = (*ALL_SETTINGS, *(service.Parameters for service in installed().services.by_name().values()))
    mine = {field.name for group in GROUPS for field in dataclasses.fields(group)}
    names = {field.name for group in groups for field in dataclasses.fields(group)} | COMMAND_LINE_ONLY
    secrets = {name for group in groups for name in group.secret_names()}
    return of_other_commands(names - mine - {"config", "all", "json"}, secrets, call.given())


def _print_sections(origins: Sequence[Origin]) -> None:
    sections: dict[str, list[Origin]] = {}
    for origin in origins:
        sections.setdefault(origin.section, []).append(origin)
    name_width = max((len(origin.name) for origin in origins), default=0)
    value_width = min(40, max((len(_value(origin)) for origin in origins), default=0))
    for section, found in sections.items():
        say("")
        say(f"{section}:")
        for origin in found:
            say(f"  {origin.name:{name_width}}  {_value(origin):{value_width}}  {origin.where}")


def _value(origin: Origin) -> str:
    if origin.hidden:
        return "(hidden)"
    if origin.value in (None, [], {}):
        return "-"
    return origin.value if isinstance(origin.value, str) else json.dumps(origin.value, ensure_ascii=False)


_GC = (
    *options.REPOSITORY,
    *options_of(GcParameters),
    *options.STORE,
    *options.FILES,
    *options.ENGINE,
    *options.PLUGINS,
)
_INIT = (
    GcOption(
        "--output-file",
        "-O",
        type=Text(),
        metavar="FILE",
        help=f"Write to this file; '-' is standard output (default: {DEFAULT_FILE}).",
    ),
    *_GC,
    json_option(),
)
_ALL = GcOption("--all", is_flag=True, help="Show every setting, defaults included.")

CONFIGURATION_COMMANDS: tuple[click.Command, ...] = (
    GcCommand("init", init, _INIT, arguments=(click.Argument(["path"], required=False, metavar="[FILE]"),)),
    click.Group(
        "config",
        help="Show the configuration.",
        commands=[GcCommand("show", show, (_ALL, *_GC, json_option()))],
        context_settings=dict(SETTINGS),
    ),
)
