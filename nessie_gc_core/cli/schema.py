"""The commands that create the tables of a database: ``create-sql-schema``, ``show-sql-create-schema-script``."""

from __future__ import annotations

import click

from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import Call, GcCommand, GcOption
from nessie_gc_core.cli.output import say
from nessie_gc_core.cli.stores import open_schema_store
from nessie_gc_core.cli.values import Text
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.services.output_files import PIPE


def create_sql_schema(call: Call) -> int:
    """Create the tables of the live-set store (default strategy: CREATE)."""
    strategy = call.text("jdbc_schema") or "CREATE"
    with open_schema_store(call) as (store, schema):
        schema.create_schema(strategy)
        say(f"the tables of the live-set store {store.name!r} now exist ({strategy})")
    return 0


def show_script(call: Call) -> int:
    """Print the SQL statements that create the tables of the live-set store."""
    with open_schema_store(call) as (_, schema):
        script = schema.schema_script()
    path = call.path("output_file")
    if path is None or str(path) == PIPE:
        click.echo(script)
        return 0
    try:
        path.write_text(script + "\n", encoding="utf-8")
    except OSError as error:
        raise NessieGcError(f"cannot write --output-file {path}: {error.strerror or error}") from error
    return 0


_OUTPUT = GcOption(
    "--output-file",
    section="Live-set store",
    type=Text(),
    metavar="FILE",
    help="Write the statements to this file (default: standard output).",
)

SCHEMA_COMMANDS = (
    GcCommand("create-sql-schema", create_sql_schema, options.STORE),
    GcCommand("show-sql-create-schema-script", show_script, (*options.STORE, _OUTPUT)),
)
