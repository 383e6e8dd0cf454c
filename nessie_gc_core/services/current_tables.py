"""Looks at the current states of a catalog's tables, in batches; one that cannot be read does not stop the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TypeVar

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.connectors import ContentToFiles, SupportsManifests, SupportsTableMetadata
from nessie_gc_core.errors import ConfigurationError, ForeignTableError, UnreadableFileError
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.model.table_properties import product_of
from nessie_gc_core.model.tables import CurrentTable, TableName
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.run import Run
from nessie_gc_core.tables import Maintenance

T = TypeVar("T")
AT_ONCE = 8
"""So many tables are asked of the catalog at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Why nothing is planned of a table."""

    outcome: str
    """In one word or two, as reports have it."""
    reason: str
    format_version: int | None = None


def maintenance_of(run: Run, service: str, catalog: str, branch: str | None) -> Maintenance:
    """A catalog of the Spark session, as services see it that rewrite its tables.

    Args:
        run: the run.
        service: the name of the service, for errors.
        catalog: the name of the catalog.
        branch: of a Nessie catalog the branch; ``None``: the one that it is configured for.

    Raises:
        ConfigurationError: the engine is not Spark, or there is no such catalog or branch.
    """
    run.choice.check_plugins()
    if run.engine.name != "spark":
        raise ConfigurationError(f"{service} needs Spark; use `engine` spark, not {run.engine.name}")
    return run.resources.tables(catalog, branch=branch).maintenance()


def each_table(
    run: Run, maintenance: Maintenance, patterns: TablePatterns, look: Callable[[TableName], T]
) -> Iterator[T]:
    """Looks at every selected table of a catalog, in several threads.

    Args:
        run: receives the progress.
        maintenance: the catalog.
        patterns: which tables are selected.
        look: looks at one; it does not raise.

    Raises:
        ConfigurationError: no plugin reads manifest lists.
        TableError: the catalog cannot be listed.
    """
    reader = run.registry.reader_of(ICEBERG_TABLE)
    if reader is None or not (issubclass(reader, SupportsManifests) and issubclass(reader, SupportsTableMetadata)):
        raise ConfigurationError("no installed plugin reads manifest lists; install nessie-gc-iceberg-files")
    meant = (name for name in maintenance.names() if patterns.matches(".".join(name)))
    with closing(read_ahead(meant, lambda name: [look(name)], at_once=lambda _: AT_ONCE, kind="tables")) as found:
        for number, table in enumerate(found, start=1):
            run.tell("plan", number, None)
            yield table


def looked_at(
    maintenance: Maintenance, name: TableName, look: Callable[[CurrentTable], T], left: Callable[[Left], T]
) -> T:
    """One table, whatever is wrong with it.

    Args:
        maintenance: its catalog.
        name: its name.
        look: looks at a state that has a snapshot.
        left: says why nothing is planned.
    """
    try:
        current = maintenance.current(name)
        if current is None:
            return left(Left(outcome="gone", reason="it no longer exists"))
        if current.snapshot_id is None:
            reason = "it has no snapshot"
            return left(Left(outcome="not worth it", reason=reason, format_version=current.format_version))
        return look(current)
    except ForeignTableError as error:
        return left(Left(outcome="left alone", reason=one_line(error)))
    except Exception as error:  # noqa: BLE001 - whatever a reader raises is about this table alone (S18)
        return left(Left(outcome="unreadable", reason=one_line(error)))


def table_of(reader: ContentToFiles, version: ContentVersion, branch: str | None) -> TableMetadata:
    """What the metadata of a version lists.

    Raises:
        UnreadableFileError: it cannot be read, or is not the metadata of a table.
    """
    assert isinstance(reader, SupportsTableMetadata)
    table = reader.table_metadata(version, reference=branch or "")
    if table is None:
        raise UnreadableFileError(version.metadata_location or version.content_key, "it is not the metadata of a table")
    return table


def left_to_others(table: TableMetadata, current: CurrentTable) -> Left | None:
    """Why nothing is rewritten of a table that another product maintains; ``None``: none does, that is known."""
    product = product_of(table.location, table.properties)
    if product is None:
        return None
    return Left(outcome="left alone", reason=f"it is maintained by {product}", format_version=current.format_version)


def reported_location(location: str | None, run: Run) -> str | None:
    """The location of a table as a sweep reports it, so that both name it alike; ``None`` if it cannot be compared."""
    return None if location is None else Spellings(run.choice.rules()).prefix_or_none(location)


def version_of(current: CurrentTable) -> ContentVersion:
    """A state of a table as readers take it."""
    return ContentVersion(
        content_id=current.uuid,
        content_type=ICEBERG_TABLE,
        metadata_location=current.metadata_location,
        snapshot_id=current.snapshot_id,
        content_key=".".join(current.name),
        commit_id="",
    )
