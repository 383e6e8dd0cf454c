"""The options of the commands, in sets; names and defaults of the original where the meaning is the same."""

from __future__ import annotations

import click

from nessie_gc_core.cli.command import GcOption, json_option
from nessie_gc_core.cli.values import Duration, KeyValues, Text, Texts, TimeZone

_REPOSITORY = "Repository"
_STORE = "Live-set store"
_FILES = "Files"
_ENGINE = "Engine"
_PLUGINS = "Plugins"


def _hinted(*declarations: str, section: str, hint: str) -> GcOption:
    """An option of the original that is refused, with what to do instead."""

    def refuse(context: click.Context, param: click.Parameter, value: object) -> None:
        if value:
            raise click.UsageError(f"{param.opts[0]} is not supported: {hint}")

    return GcOption(
        *declarations, section=section, multiple=True, hidden=True, expose_value=False, callback=refuse, type=Text()
    )


REPOSITORY = (
    GcOption(
        "--repository",
        section=_REPOSITORY,
        type=Text(),
        metavar="NAME",
        help="Name of the repository connector; 'nessie' where nothing else is said.",
    ),
    GcOption(
        "--uri",
        "-u",
        section=_REPOSITORY,
        type=Text(),
        help="Where the repository is. For Nessie its REST API, version 2; "
        "http://localhost:19120/api/v2 where nothing else is said.",
    ),
    GcOption(
        "--nessie-option",
        "-o",
        section=_REPOSITORY,
        type=KeyValues(),
        multiple=True,
        metavar="KEY=VALUE,...",
        help="Option of Nessie's client, such as nessie.authentication.type=BEARER.",
    ),
    GcOption(
        "--repository-option",
        "-r",
        section=_REPOSITORY,
        type=KeyValues(),
        multiple=True,
        metavar="KEY=VALUE,...",
        help="Any option of the repository connector ('nessie-gc plugins' lists them); "
        "NESSIE_GC_REPOSITORY_KEY in the environment is the same, and keeps secrets off the command line.",
    ),
    GcOption(
        "--token",
        section=_REPOSITORY,
        type=Text(),
        help="Token to show to the repository; better as NESSIE_GC_TOKEN in the environment.",
    ),
    GcOption(
        "--tls-ca",
        section=_REPOSITORY,
        type=Text(),
        metavar="FILE",
        help="PEM file with the certificate authorities to trust.",
    ),
    GcOption(
        "--tls-verify/--no-tls-verify",
        section=_REPOSITORY,
        default=None,
        help="Whether to check the server's certificate.",
    ),
    GcOption("--connect-timeout", section=_REPOSITORY, type=Duration(), help="How long to wait for a connection."),
    GcOption("--read-timeout", section=_REPOSITORY, type=Duration(), help="How long to wait for an answer to go on."),
    _hinted("--nessie-api", section=_REPOSITORY, hint="Nessie's REST API, version 2, is always used"),
    _hinted("--nessie-client", section=_REPOSITORY, hint="there is one client; give its options with -o or -r"),
)

STORE = (
    GcOption(
        "--inmemory",
        section=_STORE,
        is_flag=True,
        help="Keep the live set in this process only ('gc' without deferred deletes).",
    ),
    GcOption("--jdbc", section=_STORE, is_flag=True, help="Use a database, which is so anyway without --inmemory."),
    GcOption(
        "--jdbc-url",
        section=_STORE,
        type=Text(),
        metavar="URL",
        help="Database: an SQLAlchemy or jdbc: URL. Without it SQLite in the user's data folder.",
    ),
    GcOption("--jdbc-user", section=_STORE, type=Text(), help="User of the database."),
    GcOption(
        "--jdbc-password",
        section=_STORE,
        type=Text(),
        help="Password of the database; better as NESSIE_GC_JDBC_PASSWORD in the environment.",
    ),
    GcOption(
        "--jdbc-properties",
        section=_STORE,
        type=KeyValues(),
        multiple=True,
        metavar="KEY=VALUE,...",
        help="Properties of the database driver.",
    ),
    GcOption("--jdbc-fetch-size", section=_STORE, type=click.IntRange(min=1), help="Rows that are fetched at once."),
    GcOption(
        "--jdbc-pool-max-size", section=_STORE, type=click.IntRange(min=2), help="Most connections to the database."
    ),
    GcOption(
        "--jdbc-schema",
        section=_STORE,
        type=click.Choice(["CREATE", "DROP_AND_CREATE", "CREATE_IF_NOT_EXISTS"], case_sensitive=False),
        help="Make the tables first.",
    ),
)

LIVE_SET = (
    GcOption("--live-set-id", "-l", section="Live set", type=click.UUID, metavar="ID", help="Id of the live set."),
    GcOption(
        "--read-live-set-id-from",
        "-L",
        section="Live set",
        type=Text(),
        metavar="FILE",
        help="File whose first line is the id of the live set.",
    ),
)

FILES = (
    GcOption(
        "--iceberg",
        "-I",
        section=_FILES,
        type=KeyValues(),
        multiple=True,
        metavar="KEY=VALUE,...",
        help="Iceberg FileIO property, such as s3.endpoint=http://localhost:9000.",
    ),
    GcOption(
        "--connector-option",
        section=_FILES,
        type=Text(),
        multiple=True,
        metavar="KIND:NAME:KEY=VALUE",
        help="Option of a reader, lister, deleter or deduplicator, such as "
        "content-to-files:iceberg:ignore_snapshot_refs=true.",
    ),
    GcOption(
        "--lister",
        section=_FILES,
        type=Text(),
        metavar="NAME",
        help="The lister to prefer where several claim a scheme.",
    ),
    GcOption(
        "--deleter",
        section=_FILES,
        type=Text(),
        metavar="NAME",
        help="The deleter to prefer where several claim a scheme.",
    ),
    GcOption(
        "--scheme-alias",
        section=_FILES,
        type=KeyValues(),
        multiple=True,
        metavar="SCHEME=SCHEME",
        help="A URI scheme that is the same as another.",
    ),
    GcOption(
        "--authority-alias",
        section=_FILES,
        type=KeyValues(r"[^,=]+"),
        multiple=True,
        metavar="NAME=NAME",
        help="A bucket or host that is the same as another, such as an access point and its bucket.",
    ),
    GcOption(
        "--path-alias",
        section=_FILES,
        type=KeyValues(r"[^,=]+"),
        multiple=True,
        metavar="LOCATION=LOCATION",
        help="A location that is the same as another, such as a mount and what is mounted there; links on a local "
        "disk are found without it.",
    ),
    _hinted(
        "--hadoop",
        "-H",
        section=_FILES,
        hint="storage is not reached through Hadoop; give Iceberg's properties with -I, such as s3.endpoint",
    ),
)

PLUGINS = (
    GcOption(
        "--disable-plugin",
        section=_PLUGINS,
        type=Texts(),
        multiple=True,
        metavar="NAME",
        help="Leave a plugin out, by the name of its entry point or its distribution: its veto is not asked and its "
        "connectors are not found, on workers either (repeatable).",
    ),
    GcOption(
        "--required-plugins",
        "--require-plugin",
        section=_PLUGINS,
        type=Texts(),
        multiple=True,
        metavar="NAME",
        help="Stop before anything is read unless this plugin is installed and works, by the name of its entry point "
        "or its distribution (repeatable).",
    ),
)

ENGINE = (
    GcOption(
        "--engine",
        section=_ENGINE,
        type=click.Choice(["spark", "local"], case_sensitive=False),
        default="spark",
        show_default=True,
        help="What does the work: Spark, or this process.",
    ),
    GcOption(
        "--expiry-parallelism",
        section=_ENGINE,
        type=click.IntRange(min=1),
        default=4,
        show_default=True,
        help="Workers of the local engine; Spark's master says how many it has.",
    ),
    GcOption(
        "--spark-master",
        section=_ENGINE,
        type=Text(),
        metavar="MASTER",
        help="Spark master; local[*] where nothing is said.",
    ),
    GcOption(
        "--spark-conf",
        section=_ENGINE,
        type=KeyValues(r"spark\.[A-Za-z0-9_.\-]+"),
        multiple=True,
        metavar="KEY=VALUE",
        help="Spark property.",
    ),
    GcOption(
        "--memory-limit",
        section=_ENGINE,
        type=Text(),
        metavar="SIZE",
        help="Memory for joins on the local engine, such as 512MB; 1GB where nothing is said.",
    ),
)

TIME_ZONE = (
    GcOption(
        "--time-zone",
        section="Everywhere",
        type=TimeZone(),
        metavar="ZONE",
        help="Zone in which times are shown; the machine's where nothing is said.",
    ),
)

REPORT = (*TIME_ZONE, json_option())
