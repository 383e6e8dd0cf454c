"""The commands about the installation: ``plugins``, ``check``, ``completion-script``, ``demo``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, cast

import click
from click.shell_completion import get_completion_class

from nessie_gc_core.api import Collector
from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import COMPLETE_VARIABLE, Call, GcCommand, GcOption, json_option
from nessie_gc_core.cli.declared import options_of
from nessie_gc_core.cli.output import print_json, say, standard_output, write_new
from nessie_gc_core.cli.stores import check_store_lasts
from nessie_gc_core.cli.values import Text
from nessie_gc_core.config.origins import plain_value
from nessie_gc_core.connectors import Connector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.next_steps import PROGRAM
from nessie_gc_core.plugins.registry import KINDS, PluginRegistry, claims_of, fallback_claims_of, installed
from nessie_gc_core.plugins.sets import connector_text
from nessie_gc_core.services.output_files import PIPE
from nessie_gc_core.services.parameters import GcParameters


# ---- plugins ------------------------------------------------------------------------------------------
def plugins(call: Call) -> int:
    """Show the installed plugins, which of them are broken and why, and all connectors with their options."""
    registry = installed()
    connectors = list(_connectors(registry))
    if call.session.as_json:
        print_json({"plugins": [dataclasses.asdict(plugin) for plugin in registry.plugins], "connectors": connectors})
        return 0
    for plugin in registry.plugins:
        state = f"broken: {plugin.error}" if plugin.error else "works"
        state += ", has a veto" if plugin.has_veto else ""
        say(f"{plugin.name}: {plugin.origin}, {state}")
    for connector in connectors:
        say("")
        say(connector_text(connector["kind"], connector["name"], connector["claims"], connector["fallback_claims"]))
        for option in connector["options"]:
            default = "" if option["secret"] else f" [{option['default']}]"
            secret = " (may be secret)" if option["secret"] else ""
            say(f"  {option['name']}{default}{secret}: {option['help']}")
    return 0


def _connectors(registry: PluginRegistry) -> Iterator[dict[str, Any]]:
    for contract, (kind, _) in KINDS.items():
        for name, connector in sorted(registry.connectors(contract).items()):
            yield {
                "kind": kind,
                "name": name,
                "claims": claims_of(connector),
                "fallback_claims": fallback_claims_of(connector),
                "options": list(_options_of(connector)),
            }


def _options_of(connector: type[Connector]) -> Iterator[dict[str, Any]]:
    secrets = connector.Options.secret_names()
    for field in dataclasses.fields(connector.Options):
        default: object = None
        if field.default is not dataclasses.MISSING:
            default = field.default
        elif field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        yield {
            "name": field.name,
            "default": None if field.name in secrets else plain_value(default),
            "secret": field.name in secrets,
            "help": field.metadata.get("help", ""),
        }


# ---- check --------------------------------------------------------------------------------------------
def check(call: Call) -> int:
    """Check the configuration, and try everything that a run would use; changes nothing."""
    check_store_lasts(call, needed=False)
    given, results = call.given(), []
    with Collector.from_given(given, plugins=installed()) as collector:
        for result in collector.checks():
            results.append(result)
            if not call.session.as_json:
                say(str(result))
    exit_code = 0 if all(result.passed for result in results) else 1
    if call.session.as_json:
        print_json({"checks": [dataclasses.asdict(result) for result in results], "exit_code": exit_code})
    return exit_code


# ---- completion ---------------------------------------------------------------------------------------
def completion_script(call: Call) -> int:
    """Write a shell completion script."""
    shell = call.text("shell") or "bash"
    completion = get_completion_class(shell)
    path = call.path("output_file")
    if completion is None or path is None:
        raise ConfigurationError(f"completion is not available for the shell {shell!r}")
    root = call.context.find_root().command
    # The shell that will run the script is not the one of now, whose version click would ask for.
    made = completion(root, {}, PROGRAM, COMPLETE_VARIABLE)
    script = made.source_template % made.source_vars()
    if str(path) == PIPE:
        click.echo(script)
        return 0
    write_new(path, script)
    click.echo(f"wrote {path}; {_USE[shell].format(path=path)}", err=True)
    return 0


_USE = {
    "bash": "put 'source {path}' into ~/.bashrc",
    "zsh": "put 'source {path}' into ~/.zshrc",
    "fish": "put it into ~/.config/fish/completions/nessie-gc.fish",
}


# ---- demo ---------------------------------------------------------------------------------------------
def demo(call: Call) -> int:
    """Write a small lake with Spark and Nessie, collect its garbage, and verify that nothing else was deleted."""
    try:
        from nessie_gc_core.demo.run import run_demo
    except ImportError as error:
        raise ConfigurationError(
            f"the demo needs {error.name}: pip install 'nessie-gc-core[demo,local]' and the plugins' own requirements"
        ) from error
    return run_demo(
        engine=call.text("engine") or "spark",
        folder=call.path("folder"),
        console=standard_output(),
        as_json=call.session.as_json,
        quarantine=call.flag("with_quarantine"),
    )


_CHECK = (
    *options.REPOSITORY,
    *options.STORE,
    *options_of(GcParameters),
    *options.FILES,
    *options.PLUGINS,
    *options.ENGINE,
)
_COMPLETION = (
    GcOption(
        "--output-file", "-O", required=True, type=Text(), metavar="FILE", help="File to write; it must not exist yet."
    ),
    GcOption(
        "--shell",
        type=click.Choice(["bash", "zsh", "fish"]),
        default="bash",
        show_default=True,
        help="Shell to write the script for.",
    ),
)
_DEMO = (
    cast("click.Option", options.ENGINE[0]),
    GcOption("--folder", type=Text(), metavar="FOLDER", help="Keep the lake here (default: a temporary folder)."),
    GcOption(
        "--quarantine",
        "with_quarantine",
        key="demo-quarantine",
        is_flag=True,
        help="Move the garbage to a quarantine, restore it, and verify that every collected state reads as before.",
    ),
)

INSTALLATION_COMMANDS = (
    GcCommand("plugins", plugins, (json_option(),)),
    GcCommand("check", check, (*_CHECK, json_option())),
    GcCommand("completion-script", completion_script, _COMPLETION),
    GcCommand("demo", demo, (*_DEMO, json_option())),
)
