"""The tables that are visible at references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from nessie_gc_core.connectors import RepositoryConnector, SupportsDefaultReference, SupportsTableMetadata
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.repository import ContentVersion, Reference
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.heads import contents_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """A content that is visible at a reference."""

    reference: str
    """The reference."""
    table: str
    """The dotted name of the content."""
    version: ContentVersion | None
    """The version whose metadata can be read; ``None``: no plugin reads it."""
    unread: tuple[str, ...]
    """Content types that no plugin reads, of what the repository has under this name."""


def visible_tables(
    repository: RepositoryConnector, registry: PluginRegistry, names: tuple[str, ...]
) -> Iterator[Visible]:
    """What is visible at some references; what several of them have comes once.

    Args:
        repository: the repository.
        registry: knows the readers.
        names: of references; without any, the default branch where there is one, else all references.

    Raises:
        ConfigurationError: there is no such reference.
        NessieGcError: the repository cannot be read.
    """
    seen = set[tuple[str, str | None, int | None]]()
    for reference in chosen_references(repository, names):
        for found in _visible_at(reference, repository, registry):
            version = found.version
            place = (None, None) if version is None else (version.metadata_location, version.snapshot_id)
            if (found.table, *place) not in seen:
                seen.add((found.table, *place))
                yield found


def chosen_references(repository: RepositoryConnector, names: tuple[str, ...]) -> Iterator[Reference]:
    """The references with these names; without any, the default branch where there is one, else all.

    Raises:
        ConfigurationError: there is no such reference.
        NessieGcError: the repository cannot be read.
    """
    if not names and isinstance(repository, SupportsDefaultReference):
        names = (repository.default_reference(),)
    missing = set(names)
    for reference in repository.references():
        if not names or reference.name in names:
            missing.discard(reference.name)
            yield reference
    if missing:
        raise ConfigurationError(f"`reference`: the branch or tag {min(missing)!r} does not exist")


def _visible_at(reference: Reference, repository: RepositoryConnector, registry: PluginRegistry) -> Iterator[Visible]:
    by_name = groupby(contents_at(repository, reference), key=lambda version: version.content_key)
    for name, versions in by_name:
        readable, unread = None, dict[str, None]()
        for version in versions:
            reader = registry.reader_of(version.content_type)
            if reader is None:
                unread[version.content_type] = None
            elif readable is None and issubclass(reader, SupportsTableMetadata):
                readable = version
        if readable is not None or unread:
            yield Visible(reference=reference.name, table=name, version=readable, unread=tuple(unread))
