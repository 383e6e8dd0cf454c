"""The command ``new-plugin``."""

from __future__ import annotations

from pathlib import Path

import click

from nessie_gc_core import __version__
from nessie_gc_core.cli.command import Call, GcCommand, GcOption, json_option
from nessie_gc_core.cli.output import print_json, say
from nessie_gc_core.cli.values import Text
from nessie_gc_core.model.next_steps import quoted
from nessie_gc_core.plugins.starting import KINDS_OF_PLUGINS, write_plugin


def new_plugin(call: Call) -> int:
    """Write a new plugin: a package that can be installed, with an example that works and its tests.

    The package is written to a new folder nessie-gc-NAME. Its tests are those of the conformance kit, and they pass.
    """
    name, kind = call.text("name") or "", call.text("kind") or ""
    folder = call.path("folder") or Path()
    files = write_plugin(name, kind, folder, version=__version__)
    target = files[0].parent
    then = [
        f"python -m pip install -e {quoted(str(target))} 'nessie-gc-core[testing]'",
        f"python -m pytest -c {quoted(str(target / 'pyproject.toml'))} {quoted(str(target))}",
    ]
    if call.session.as_json:
        print_json({"folder": str(target), "files": [str(file) for file in files], "next": then})
        return 0
    say(f"wrote the {kind} plugin {target}:")
    for file in files:
        say(f"  {file.relative_to(target)}")
    say("next:")
    for command in then:
        say(f"  {command}")
    return 0


_OPTIONS = (
    GcOption(
        "--kind",
        section="Plugin",
        type=click.Choice(KINDS_OF_PLUGINS),
        required=True,
        help="Kind of plugin.",
    ),
    GcOption(
        "--folder",
        section="Plugin",
        type=Text(),
        metavar="FOLDER",
        help="Folder in which to create the plugin's folder (default: the working directory).",
    ),
    json_option(),
)

PLUGIN_COMMANDS = (
    GcCommand("new-plugin", new_plugin, _OPTIONS, arguments=(click.Argument(["name"], metavar="NAME"),)),
)
