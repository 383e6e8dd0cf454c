"""Every option of the Java tool, and its equivalent."""

from __future__ import annotations

import click

from generating.text import code, table
from nessie_gc_core.cli.main import cli

_INTRO = """# The Java tool's options

This page lists every command and option of Nessie's own Java tool (`nessie-gc.jar`, 0.108), and its equivalent. *Same*
means the same name, meaning and default. See also [the differences](../explanation/differences-from-java.md).
"""
_COMMANDS = (
    ("mark-live, identify, mark", "mark", "same"),
    (
        "sweep, expire",
        "sweep",
        "also takes the repository options: references are checked again before anything is deleted",
    ),
    ("gc", "gc", "same"),
    ("list", "list", "same; also `--json`"),
    ("show", "show", "same; also `--json`"),
    ("delete", "delete", "same: deletes the rows of a live set, and no files"),
    ("list-deferred", "list-deferred", "same; also `--json`"),
    ("deferred-deletes", "deferred-deletes", "also takes the repository options; removes the records of deleted files"),
    ("create-sql-schema", "create-sql-schema", "same; the tables differ, and `import-java` imports the old ones"),
    ("show-sql-create-schema-script", "show-sql-create-schema-script", "same; the tables differ"),
    ("completion-script", "completion-script", "same; `--shell` for zsh and fish"),
    ("show-licenses", "", "does not exist: pip shows the licence of each distribution"),
    ("help", "", "`--help` on every command"),
)
_OPTIONS = (
    ("--inmemory", "gc", "same"),
    ("--jdbc", "gc", "accepted; a database is the default (SQLite without a URL)"),
    ("--jdbc-url", "gc", "takes `jdbc:` URLs of PostgreSQL and SQLite, and SQLAlchemy's URLs"),
    ("--jdbc-user", "gc", "same"),
    ("--jdbc-password", "gc", "same; prefer `NESSIE_GC_JDBC_PASSWORD`"),
    ("--jdbc-properties", "gc", "same; names are those of the Python driver"),
    ("--jdbc-fetch-size", "gc", "same meaning; larger default"),
    ("--jdbc-pool-max-size", "gc", "same"),
    ("--jdbc-schema", "gc", "same"),
    ("--time-zone", "gc", "same"),
    ("--nessie-client", "gc", "refused with a hint: there is only one client"),
    ("--nessie-api", "gc", "refused with a hint: REST version 2 is always used"),
    ("-u, --uri", "gc", "same"),
    ("-o, --nessie-option", "gc", "options for address, authentication, time-outs and TLS; others are refused"),
    ("-R, --cutoff-ref-time", "gc", "same"),
    ("-c, --default-cutoff", "gc", "same"),
    ("-C, --cutoff", "gc", "same; a pattern matches the whole name, even with alternatives"),
    ("--write-live-set-id-to", "gc", "same"),
    ("--identify-parallelism", "gc", "same"),
    ("-l, --live-set-id", "sweep", "same"),
    ("-L, --read-live-set-id-from", "sweep", "same"),
    ("--max-file-modification", "gc", "same; `--min-age` also keeps young files"),
    ("--expiry-parallelism", "gc", "same on the local engine; on Spark, its master decides"),
    ("--expected-file-count", "gc", "only with `--membership bloom`"),
    ("--fpp", "gc", "only with `--membership bloom`"),
    ("--allowed-fpp", "gc", "accepted; the filter is never overfull"),
    ("--defer-deletes, --no-defer-deletes", "gc", "same"),
    ("-I, --iceberg", "gc", "same, with PyIceberg's property names"),
    ("-H, --hadoop", "gc", "refused with a hint: storage is not accessed through Hadoop"),
    ("-D, --with-deferred-deletes", "show", "same"),
    ("-C, --with-content-references", "show", "same"),
    ("-B, --with-base-locations", "show", "same"),
    ("--output-file", "show-sql-create-schema-script", "same"),
    ("-O, --output-file", "completion-script", "same"),
    ("-h, --help", "gc", "same"),
    ("-V, --version", "gc", "same"),
    ("-Dlog.level.console=…", "", "`-v`, `-vv`, `-q`"),
    ("NESSIE_GC_… variables", "", "same; every option has one"),
)


def page() -> str:
    """The page; fails if it names a command or option that does not exist."""
    for _, name, _ in _COMMANDS:
        assert not name or name in cli.commands, name
    for names, command, _ in _OPTIONS:
        if command:
            _check(names.split(", "), command)
    commands = ((_codes(names), code(name), text) for names, name, text in _COMMANDS)
    options = ((_codes(names), text) for names, _, text in _OPTIONS)
    return "\n".join(
        [
            _INTRO,
            "## Commands\n",
            table(("Java tool", "Nessie GC", "difference"), commands),
            "\n## Options\n",
            table(("Java tool", "Nessie GC"), options),
        ]
    )


def _check(names: list[str], command: str) -> None:
    found = cli.commands[command]
    with click.Context(found, **found.context_settings) as context:
        params = found.get_params(context)
    known = {name for param in params for name in (*param.opts, *param.secondary_opts)}
    assert set(names) <= known, f"{command} has no {set(names) - known}"


def _codes(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))
