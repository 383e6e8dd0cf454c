"""The settings of a run: repository, live-set store, files, plugins, engine.

Each is an option of the command line, a key of the configuration file, a variable of the environment and a keyword in
Python, under one name and with one default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum

from nessie_gc_core.model.options import ConnectorOptions, option, options, secret, secret_mapping

ANY_KEY = r"[^,=]+"
"""The name of a place: any characters except those that separate pairs."""
_REPOSITORY = "Repository"
_STORE = "Live-set store"
_FILES = "Files"
_PLUGINS = "Plugins"
_ENGINE = "Engine"


class EngineName(StrEnum):
    """The engine that does the work."""

    SPARK = "spark"
    LOCAL = "local"


class SchemaStrategy(StrEnum):
    """How the tables of a store are created."""

    CREATE = "CREATE"
    DROP_AND_CREATE = "DROP_AND_CREATE"
    CREATE_IF_NOT_EXISTS = "CREATE_IF_NOT_EXISTS"


@options
class RepositorySettings(ConnectorOptions):
    """The repository: the source of references and commits."""

    repository: str | None = option(
        None,
        section=_REPOSITORY,
        metavar="NAME",
        help="Name of the repository connector (default: nessie). If the configuration file has several "
        "[[repositories]]: the label of the one to work on; the others are still read, and their files are kept.",
    )
    uri: str | None = option(
        None,
        section=_REPOSITORY,
        flag="-u",
        help="Address of the repository. For Nessie, its REST API version 2 (default: http://localhost:19120/api/v2).",
    )
    nessie_option: Mapping[str, str] = secret_mapping(
        section=_REPOSITORY,
        flag="-o",
        metavar="KEY=VALUE,...",
        help="Option of the Nessie client, such as nessie.authentication.type=BEARER.",
    )
    repository_option: Mapping[str, str] = secret_mapping(
        section=_REPOSITORY,
        flag="-r",
        metavar="KEY=VALUE,...",
        help="Option of the repository connector; 'nessie-gc plugins' lists them. To keep a secret off the command "
        "line, set NESSIE_GC_REPOSITORY_KEY in the environment.",
    )
    token: str | None = secret(
        section=_REPOSITORY, help="Bearer token for the repository; prefer NESSIE_GC_TOKEN in the environment."
    )
    tls_ca: str | None = option(
        None,
        section=_REPOSITORY,
        metavar="FILE",
        help="PEM file with the certificate authorities to trust (default: those of Python).",
        per_machine=True,
    )
    tls_verify: bool | None = option(
        None, section=_REPOSITORY, help="Check the certificate of the server (default: yes)."
    )
    connect_timeout: timedelta | None = option(
        None, section=_REPOSITORY, help="Time limit for connecting to the repository.", per_machine=True
    )
    read_timeout: timedelta | None = option(
        None, section=_REPOSITORY, help="Time limit for the next part of a response.", per_machine=True
    )


@options
class StoreSettings(ConnectorOptions):
    """The live-set store; ``inmemory`` and ``jdbc…`` are the Java tool's options for two of the stores."""

    store: str | None = option(
        None,
        section=_STORE,
        metavar="NAME",
        help="Live-set store, by the name of its connector; 'nessie-gc plugins' lists them (default: jdbc).",
    )
    store_option: Mapping[str, str] = secret_mapping(
        section=_STORE,
        metavar="KEY=VALUE,...",
        help="Option of the live-set store; 'nessie-gc plugins' lists them. To keep a secret off the command line, set "
        "NESSIE_GC_STORE_KEY in the environment.",
    )
    inmemory: bool = option(
        False,
        section=_STORE,
        help="Keep the live set in this process only, for 'gc' without --defer-deletes; the same as --store memory.",
    )
    jdbc: bool = option(
        False, section=_STORE, help="Keep live sets in a database; the same as --store jdbc, which is the default."
    )
    jdbc_url: str | None = secret(
        section=_STORE,
        metavar="URL",
        address=True,
        help="URL of the database, in the form of SQLAlchemy or of jdbc: (default: an SQLite file in the user's data "
        "folder).",
    )
    jdbc_user: str | None = option(None, section=_STORE, help="Database user.")
    jdbc_password: str | None = secret(
        section=_STORE, help="Database password; prefer NESSIE_GC_JDBC_PASSWORD in the environment."
    )
    jdbc_properties: Mapping[str, str] = secret_mapping(
        section=_STORE, metavar="KEY=VALUE,...", help="Property of the database driver."
    )
    jdbc_fetch_size: int | None = option(None, section=_STORE, minimum=1, help="Rows to fetch at once.")
    jdbc_pool_max_size: int | None = option(
        None, section=_STORE, minimum=2, help="Maximum connections to the database."
    )
    jdbc_schema: SchemaStrategy | None = option(None, section=_STORE, help="Create the tables before running.")


@options
class FileSettings(ConnectorOptions):
    """How files are read, listed and deleted, and which names mean the same place."""

    iceberg: Mapping[str, str] = secret_mapping(
        section=_FILES,
        flag="-I",
        metavar="KEY=VALUE,...",
        help="Iceberg FileIO property, such as s3.endpoint=http://localhost:9000.",
    )
    connector_option: Sequence[str] = option(
        (),
        section=_FILES,
        metavar="KIND:NAME:KEY=VALUE",
        whole=True,
        shown=False,
        help="Option of a reader, lister, deleter or deduplicator, such as "
        "content-to-files:iceberg:ignore_snapshot_refs=true.",
    )
    lister: str | None = option(
        None, section=_FILES, metavar="NAME", help="Lister to prefer if several claim a scheme."
    )
    deleter: str | None = option(
        None, section=_FILES, metavar="NAME", help="Deleter to prefer if several claim a scheme."
    )
    scheme_alias: Mapping[str, str] = option(
        {}, section=_FILES, metavar="SCHEME=SCHEME", help="Treat a URI scheme as another one."
    )
    authority_alias: Mapping[str, str] = option(
        {},
        section=_FILES,
        metavar="NAME=NAME",
        key=ANY_KEY,
        help="Treat a bucket or host as another one, such as an access point and its bucket.",
    )
    path_alias: Mapping[str, str] = option(
        {},
        section=_FILES,
        metavar="LOCATION=LOCATION",
        key=ANY_KEY,
        help="Treat a location as another one, such as a mount point and the bucket behind it. Links on a local disk "
        "need no alias.",
    )
    read_ahead: int | None = option(
        None,
        section=_FILES,
        metavar="FILES",
        minimum=1,
        help="How many metadata files and manifests each process reads at once (default: 64 from network stores, 1 "
        "from local disks).",
        per_machine=True,
    )


@options
class PluginSettings(ConnectorOptions):
    """Plugins to leave out, and plugins that are required."""

    disable_plugin: Sequence[str] = option(
        (),
        section=_PLUGINS,
        metavar="NAME",
        help="Ignore a plugin, on workers too: its veto is not asked, and its connectors are not found. Give the name "
        "of its entry point or its distribution (repeatable).",
    )
    required_plugins: Sequence[str] = option(
        (),
        section=_PLUGINS,
        metavar="NAME",
        help="Stop before reading anything unless this plugin is installed and works. Give the name of its entry "
        "point or its distribution (repeatable).",
    )


@options
class EngineSettings(ConnectorOptions):
    """The engine that does the work."""

    engine: EngineName = option(
        EngineName.SPARK,
        section=_ENGINE,
        help="Engine that does the work: Spark, or this process. Without PySpark, the default is local.",
    )
    expiry_parallelism: int = option(
        4,
        section=_ENGINE,
        minimum=1,
        help="Number of workers (threads and processes) of the local engine. On Spark, the master decides.",
        per_machine=True,
    )
    table_catalog: str = option(
        "iceberg",
        section=_ENGINE,
        metavar="NAME",
        help="Connector that opens table catalogs for the local engine. Spark uses those of its session.",
    )
    spark_master: str | None = option(
        None, section=_ENGINE, metavar="MASTER", help="Spark master (default: local[*]).", per_machine=True
    )
    spark_conf: Mapping[str, str] = option(
        {}, section=_ENGINE, metavar="KEY=VALUE", key=r"spark\.[A-Za-z0-9_.\-]+", help="Spark property.", shown=False
    )
    memory_limit: str | None = option(
        None,
        section=_ENGINE,
        metavar="SIZE",
        help="Memory for joins on the local engine, such as 1GB (default: 512MB).",
        per_machine=True,
    )


SETTINGS: tuple[type[ConnectorOptions], ...] = (
    RepositorySettings,
    StoreSettings,
    FileSettings,
    PluginSettings,
    EngineSettings,
)
"""All groups of settings; services add their parameters."""


@options
class PruneSettings(ConnectorOptions):
    """Which live sets 'prune' removes; its key is not ``older-than``, which is about snapshots and files."""

    prune_older_than: timedelta | None = option(
        None,
        section="Live set",
        metavar="DURATION",
        help="With 'prune', remove live sets that were created longer ago than this, such as P90D (required).",
    )


COMMAND_LINE_ONLY = frozenset(
    {
        "config", "verbose", "quiet", "log_format", "json", "time_zone", "output_file", "shell", "folder", "from", "to",
        "live_set_id", "read_live_set_id_from", "write_live_set_id_to", "with_deferred_deletes",
        "with_content_references", "with_base_locations", "discard_deferred", "all",
        "status", "limit", "keep", "prune_older_than", "kind", "once", "job", "since", "run", "run_status",
    }
)  # fmt: skip
"""Options that only the command line has; a configuration file may hold them too, and Python ignores them there."""
