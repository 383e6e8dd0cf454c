"""The options that several commands share."""

from __future__ import annotations

import click

from nessie_gc_core.cli.command import GcOption, json_option
from nessie_gc_core.cli.declared import options_of
from nessie_gc_core.cli.values import Text, TimeZone
from nessie_gc_core.config.settings import (
    EngineSettings,
    FileSettings,
    PluginSettings,
    RepositorySettings,
    StoreSettings,
)
from nessie_gc_core.services.parameters import DeferredDeletionParameters


def _hinted(*declarations: str, section: str, hint: str) -> GcOption:
    """An option of the Java tool that is refused, with a hint what to do instead."""

    def refuse(context: click.Context, param: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"{param.opts[0]} is not supported: {hint}")

    return GcOption(
        *declarations, section=section, multiple=True, hidden=True, expose_value=False, callback=refuse, type=Text()
    )


REPOSITORY = (
    *options_of(RepositorySettings),
    _hinted("--nessie-api", section="Repository", hint="Nessie's REST API, version 2, is always used"),
    _hinted("--nessie-client", section="Repository", hint="there is only one client; give its options with -o or -r"),
)
STORE = tuple(options_of(StoreSettings))
FILES = (
    *options_of(FileSettings),
    _hinted(
        "--hadoop",
        "-H",
        section="Files",
        hint="Hadoop is not used to reach storage; give Iceberg properties with -I, such as s3.endpoint",
    ),
)
PLUGINS = tuple(options_of(PluginSettings))
ENGINE = tuple(options_of(EngineSettings))
LIVE_SET = tuple(
    option
    for option in options_of(DeferredDeletionParameters)
    if option.name in ("live_set_id", "read_live_set_id_from")
)
DRY_RUN = tuple(option for option in options_of(DeferredDeletionParameters) if option.name == "dry_run")

TIME_ZONE = (
    GcOption(
        "--time-zone",
        section="Common options",
        type=TimeZone(),
        metavar="ZONE",
        help="Time zone for displayed times (default: that of the machine; of a schedule, its own).",
    ),
)
REPORT = (*TIME_ZONE, json_option())
SHOWN_RUNS = 20
"""So many runs of a schedule are listed unless more are asked for."""
