"""The settings that say what a run works with: repository, store, files, plugins, engine.

Each is an option of the command line, a key of the configuration file, a variable of the environment and a keyword in
Python, under one name and with one default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum

from nessie_gc_core.model.options import ConnectorOptions, option, options, secret, secret_mapping

ANY_KEY = r"[^,=]+"
"""What names a place: anything that parts no pairs."""
_REPOSITORY = "Repository"
_STORE = "Live-set store"
_FILES = "Files"
_PLUGINS = "Plugins"
_ENGINE = "Engine"


class EngineName(StrEnum):
    """What does the work."""

    SPARK = "spark"
    LOCAL = "local"


class SchemaStrategy(StrEnum):
    """How the tables of a store are made."""

    CREATE = "CREATE"
    DROP_AND_CREATE = "DROP_AND_CREATE"
    CREATE_IF_NOT_EXISTS = "CREATE_IF_NOT_EXISTS"


@options
class RepositorySettings(ConnectorOptions):
    """Where references and commits come from."""

    repository: str | None = option(
        None,
        section=_REPOSITORY,
        metavar="NAME",
        help="Name of the repository connector; 'nessie' where nothing else is said. Where the configuration file has "
        "several [[repositories]], the label of the one to work on; the others are read, and keep what they need.",
    )
    uri: str | None = option(
        None,
        section=_REPOSITORY,
        flag="-u",
        help="Where the repository is. For Nessie its REST API, version 2; "
        "http://localhost:19120/api/v2 where nothing else is said.",
    )
    nessie_option: Mapping[str, str] = secret_mapping(
        section=_REPOSITORY,
        flag="-o",
        metavar="KEY=VALUE,...",
        help="Option of Nessie's client, such as nessie.authentication.type=BEARER.",
    )
    repository_option: Mapping[str, str] = secret_mapping(
        section=_REPOSITORY,
        flag="-r",
        metavar="KEY=VALUE,...",
        help="Any option of the repository connector ('nessie-gc plugins' lists them); "
        "NESSIE_GC_REPOSITORY_KEY in the environment is the same, and keeps secrets off the command line.",
    )
    token: str | None = secret(
        section=_REPOSITORY, help="Token to show to the repository; better as NESSIE_GC_TOKEN in the environment."
    )
    tls_ca: str | None = option(
        None, section=_REPOSITORY, metavar="FILE", help="PEM file with the certificate authorities to trust."
    )
    tls_verify: bool | None = option(None, section=_REPOSITORY, help="Whether to check the server's certificate.")
    connect_timeout: timedelta | None = option(None, section=_REPOSITORY, help="How long to wait for a connection.")
    read_timeout: timedelta | None = option(None, section=_REPOSITORY, help="How long to wait for an answer to go on.")


@options
class StoreSettings(ConnectorOptions):
    """Where live sets are kept; ``inmemory`` and ``jdbc…`` are the Java tool's words for two of the stores."""

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
        help="Database: an SQLAlchemy or jdbc: URL. Without it SQLite in the user's data folder.",
    )
    jdbc_user: str | None = option(None, section=_STORE, help="User of the database.")
    jdbc_password: str | None = secret(
        section=_STORE, help="Password of the database; better as NESSIE_GC_JDBC_PASSWORD in the environment."
    )
    jdbc_properties: Mapping[str, str] = secret_mapping(
        section=_STORE, metavar="KEY=VALUE,...", help="Properties of the database driver."
    )
    jdbc_fetch_size: int | None = option(None, section=_STORE, minimum=1, help="Rows that are fetched at once.")
    jdbc_pool_max_size: int | None = option(None, section=_STORE, minimum=2, help="Most connections to the database.")
    jdbc_schema: SchemaStrategy | None = option(None, section=_STORE, help="Make the tables first.")


@options
class FileSettings(ConnectorOptions):
    """How files are read, listed and deleted, and what is the same as what."""

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
        None, section=_FILES, metavar="NAME", help="The lister to prefer where several claim a scheme."
    )
    deleter: str | None = option(
        None, section=_FILES, metavar="NAME", help="The deleter to prefer where several claim a scheme."
    )
    scheme_alias: Mapping[str, str] = option(
        {}, section=_FILES, metavar="SCHEME=SCHEME", help="A URI scheme that is the same as another."
    )
    authority_alias: Mapping[str, str] = option(
        {},
        section=_FILES,
        metavar="NAME=NAME",
        key=ANY_KEY,
        help="A bucket or host that is the same as another, such as an access point and its bucket.",
    )
    path_alias: Mapping[str, str] = option(
        {},
        section=_FILES,
        metavar="LOCATION=LOCATION",
        key=ANY_KEY,
        help="A location that is the same as another, such as a mount and what is mounted there; links on a local "
        "disk are found without it.",
    )
    read_ahead: int | None = option(
        None,
        section=_FILES,
        metavar="FILES",
        minimum=1,
        help="How many metadata files and manifests each process reads at once. Where nothing is said, 64 from stores "
        "that answer over a network, and one from local disks.",
    )


@options
class PluginSettings(ConnectorOptions):
    """Which plugins are left out, and which have to be there."""

    disable_plugin: Sequence[str] = option(
        (),
        section=_PLUGINS,
        metavar="NAME",
        help="Leave a plugin out, by the name of its entry point or its distribution: its veto is not asked and its "
        "connectors are not found, on workers either (repeatable).",
    )
    required_plugins: Sequence[str] = option(
        (),
        section=_PLUGINS,
        metavar="NAME",
        help="Stop before anything is read unless this plugin is installed and works, by the name of its entry point "
        "or its distribution (repeatable).",
    )


@options
class EngineSettings(ConnectorOptions):
    """What does the work."""

    engine: EngineName = option(
        EngineName.SPARK,
        section=_ENGINE,
        help="What does the work: Spark, or this process. Without PySpark, the default is local.",
    )
    expiry_parallelism: int = option(
        4, section=_ENGINE, minimum=1, help="Workers of the local engine; Spark's master says how many it has."
    )
    table_catalog: str = option(
        "iceberg",
        section=_ENGINE,
        metavar="NAME",
        help="What opens catalogs of tables for the local engine; on Spark those of the session are used.",
    )
    spark_master: str | None = option(
        None, section=_ENGINE, metavar="MASTER", help="Spark master; local[*] where nothing is said."
    )
    spark_conf: Mapping[str, str] = option(
        {}, section=_ENGINE, metavar="KEY=VALUE", key=r"spark\.[A-Za-z0-9_.\-]+", help="Spark property."
    )
    memory_limit: str | None = option(
        None,
        section=_ENGINE,
        metavar="SIZE",
        help="Memory for joins on the local engine, such as 512MB; 1GB where nothing is said.",
    )


SETTINGS: tuple[type[ConnectorOptions], ...] = (
    RepositorySettings,
    StoreSettings,
    FileSettings,
    PluginSettings,
    EngineSettings,
)
"""All of them; services add their parameters."""
COMMAND_LINE_ONLY = frozenset(
    {
        "config", "verbose", "quiet", "json", "time_zone", "output_file", "shell", "folder", "from", "to",
        "live_set_id", "read_live_set_id_from", "write_live_set_id_to", "with_deferred_deletes",
        "with_content_references", "with_base_locations", "discard_deferred", "all",
        "status", "limit", "keep",
    }
)  # fmt: skip
"""What the command line alone has; a configuration file may say these as well, and others do not mind."""
