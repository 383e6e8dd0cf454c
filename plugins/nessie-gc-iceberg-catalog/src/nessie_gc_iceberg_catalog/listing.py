"""Every table and view of a catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

from nessie_gc_core.errors import RepositoryError

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_T = TypeVar("_T")


class Caller(Protocol):
    """Calls the catalog, again where it does not answer, and translates what it raises."""

    def __call__(self, call: Callable[[], _T], what: str) -> _T:
        """What the call returns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A table or view that the catalog lists."""

    identifier: tuple[str, ...]
    is_view: bool = False
    """Whether the catalog calls it a view of Iceberg; whatever else it is, its metadata says."""
    is_table: bool = True
    """Whether the catalog calls it a table or view of Iceberg at all; a row of anything may name metadata."""
    metadata_location: str | None = None
    """Where the listing itself tells it."""
    location: str | None = None
    """Of a table that is not Iceberg's: where it is, in the folder of one that is, whose metadata is given."""
    problem: str | None = None
    """Why the listing tells it without saying where, so that the content is unknown; ``None``: it does."""
    previous_location: str | None = None
    """Where its metadata was before, if that is all that the listing tells."""


def list_contents(catalog: Catalog, call: Caller, *, nested: bool) -> Iterator[Listed]:
    """Lists namespace by namespace; one that goes while it is listed has nothing left to list."""
    waiting: list[tuple[str, ...]] = [()]
    seen: set[tuple[str, ...]] = set()
    while waiting:
        parent = waiting.pop()
        where = f"listing the namespaces in {'.'.join(parent) or 'the catalog'}"
        for namespace in call(lambda parent=parent: _children(catalog, parent), where):  # type: ignore[misc]
            if namespace in seen:
                continue
            if namespace[: len(parent)] != parent:
                raise RepositoryError(
                    f"{where}: the catalog returned {'.'.join(namespace)}, which is not inside it; set "
                    "nested_namespaces=false if it has no nested namespaces"
                )
            seen.add(namespace)
            yield from _in_namespace(catalog, call, namespace)
            if nested:
                waiting.append(namespace)


def _in_namespace(catalog: Catalog, call: Caller, namespace: tuple[str, ...]) -> Iterator[Listed]:
    dotted = ".".join(namespace)
    for table in call(lambda: _tables(catalog, namespace), f"listing the tables of namespace {dotted}"):
        yield Listed(identifier=table)
    for view in call(lambda: _views(catalog, namespace), f"listing the views of namespace {dotted}"):
        yield Listed(identifier=view, is_view=True)


def _children(catalog: Catalog, parent: tuple[str, ...]) -> list[tuple[str, ...]]:
    from pyiceberg.exceptions import NoSuchNamespaceError

    try:
        return [tuple(child) for child in catalog.list_namespaces(parent)]
    except NoSuchNamespaceError:
        if parent == ():
            raise
        return _nothing_of(catalog, parent)


def _tables(catalog: Catalog, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
    from pyiceberg.exceptions import NoSuchNamespaceError

    try:
        return [tuple(table) for table in catalog.list_tables(namespace)]
    except NoSuchNamespaceError:
        return _nothing_of(catalog, namespace)


def _nothing_of(catalog: Catalog, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What is in a namespace that went while the catalog was listed; one that is still there has something else."""
    from pyiceberg.exceptions import NoSuchNamespaceError

    try:
        is_there = namespace in {tuple(each) for each in catalog.list_namespaces(namespace[:-1])}
    except NoSuchNamespaceError:
        is_there = False
    if is_there:
        raise RepositoryError(
            f"the catalog lists namespace {'.'.join(namespace)}, and then does not know it; try again"
        )
    return []


def _views(catalog: Catalog, namespace: tuple[str, ...]) -> list[tuple[str, ...]]:
    from pyiceberg.exceptions import NoSuchNamespaceError

    try:
        return [tuple(view) for view in catalog.list_views(namespace)]
    except NoSuchNamespaceError:
        return []
    except NotImplementedError:  # PyIceberg knows no views of this type of catalog
        return []
