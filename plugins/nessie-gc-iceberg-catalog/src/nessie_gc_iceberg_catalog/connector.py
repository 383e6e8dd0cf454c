"""The connector ``iceberg-catalog``: a plain Iceberg catalog as a repository."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import (
    ConfigurationError,
    NessieGcError,
    ReferenceNotFoundError,
    RepositoryError,
    ServiceUnavailableError,
    UnreadableFileError,
)
from nessie_gc_core.model import (
    ContentVersion,
    CredentialPlace,
    CredentialUse,
    LogEntry,
    Reference,
    ReferenceKind,
    Removal,
    StorageCredential,
    TableMetadata,
)
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.unpacking import metadata_limit
from nessie_gc_iceberg_catalog.catalogs import CatalogAddress
from nessie_gc_iceberg_catalog.listing import Listed
from nessie_gc_iceberg_catalog.managers import Managers
from nessie_gc_iceberg_catalog.names import identifier_of, parse_commit_id, reference_name
from nessie_gc_iceberg_catalog.options import IcebergCatalogOptions
from nessie_gc_iceberg_catalog.retries import ReadRetries, Retries, until
from nessie_gc_iceberg_catalog.rows import TELL_METADATA, list_rows
from nessie_gc_iceberg_catalog.states import ContentStates, table_metadata
from nessie_gc_iceberg_catalog.tags import change_tags
from nessie_gc_iceberg_catalog.unwritable import NOT_CALLED_A_TABLE, why_unloadable, why_unwritable

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

    from nessie_gc_iceberg_catalog.commits import TableCommits
    from nessie_gc_iceberg_catalog.expiry import SnapshotExpiry
    from nessie_gc_iceberg_catalog.loading import Loader
    from nessie_gc_iceberg_catalog.selection import Selection
    from nessie_gc_iceberg_catalog.vended import CatalogCredentials
log = logging.getLogger(__name__)

_T = TypeVar("_T")
_REMEMBERED_STATES = 500_000
"""How many states are remembered between ``references`` and ``commit_log``; more are loaded again."""
_LISTINGS = 5
"""How often the catalog is listed while tables vanish from under it (a renamed table must not be missed)."""


class IcebergCatalogConnector(RepositoryConnector):
    """One reference per table or view, named ``namespace.table``; its head is the current metadata file.

    The log names every snapshot that the current metadata lists, newest first. What no policy gives up is put
    by the head: all listed snapshots, the files of the metadata log, and locations that nobody may sweep.
    """

    name = "iceberg-catalog"
    shareable = True
    Options = IcebergCatalogOptions
    options: IcebergCatalogOptions

    def __init__(self, options: IcebergCatalogOptions) -> None:
        super().__init__(options)
        self._address = CatalogAddress(options)
        self._retries = Retries(self._address.redact, options.retries)
        self._reads = ReadRetries(self._address.redact, options.retries)
        self._lock = threading.Lock()
        self._opened: Catalog | None = None
        self._remembered: OrderedDict[str, ContentStates] = OrderedDict()
        self._remembered_states = 0
        self._not_called_tables: set[str] = set()
        """Names of rows that are not called tables and name the metadata of one; nobody can commit to it."""

    def identity(self) -> str:
        """The option ``identity``; else type, URI in one spelling, warehouse, and for SQL the catalog's name."""
        return self._address.identity()

    def address(self) -> str:
        """Type, URI without credentials, warehouse, and for SQL the catalog's name, whatever name is configured."""
        return self._address.described()

    def former_identities(self) -> list[str]:
        """The address in one spelling, where a name is configured, and as it was spelled."""
        return self._address.former_identities()

    def references(self) -> Iterator[Reference]:
        """Lists all tables and views, loading each; what vanishes meanwhile is looked for again."""
        yielded: set[tuple[str, ...]] = set()
        always: set[str] | None = None
        for _ in range(_LISTINGS):
            vanished: dict[str, Listed] = {}
            new = (listed for listed in self._list() if listed.identifier not in yielded)
            for listed, states in self._load_all(new):
                if states is None:
                    vanished[reference_name(listed.identifier)] = listed
                    continue
                yielded.add(listed.identifier)
                yield self._reference(listed, states)
            if not vanished:
                return
            always = vanished.keys() & (vanished.keys() if always is None else always)
        if always != vanished.keys():
            raise RepositoryError(f"{self.identity()} changes faster than it can be listed; try again")
        for listed in vanished.values():
            yield self._reference(listed, self._loader.unloadable(listed, "it says that there is none"))

    def _reference(self, listed: Listed, states: ContentStates) -> Reference:
        """What a table or view is shown as."""
        if not listed.is_table:
            self._not_called_tables.add(states.name)
        self._remember(states)
        return Reference(name=states.name, kind=ReferenceKind.BRANCH, commit_id=states.head)

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        """Every state that the metadata of ``reference.commit_id`` lists, from that one on.

        Unless ``keep_listed_snapshots`` is off, the head's entry puts all of them: until a snapshot is expired,
        a reader may still ask for it.
        """
        if reference.commit_id is None:
            return
        states, position = self._states(reference, reference.commit_id)
        yield from states.log(start=position, keep_all=self.options.keep_listed_snapshots)

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        """Nothing: the log names every state."""
        yield from ()

    # ---- credentials ----------------------------------------------------------------------------------
    def credential_uses(self) -> frozenset[CredentialUse]:
        """According to ``vended_credentials``."""
        return self.options.vended_credentials.uses()

    def credential_places(self) -> Iterator[CredentialPlace]:
        """The locations of all tables of a REST catalog, and where they write; each table is loaded once."""
        if self._address.type == "rest":
            yield from self._credentials.places(self._list())

    def storage_credentials(self, owner: str) -> Sequence[StorageCredential]:
        """What the catalog says when it loads the table: ``storage-credentials``, else its ``config``."""
        return self._credentials.of(owner) if self._address.type == "rest" else ()

    @cached_property
    def _credentials(self) -> CatalogCredentials:
        from nessie_gc_iceberg_catalog.vended import CatalogCredentials

        catalog = self._call(self._address.open_for_credentials, f"opening catalog {self._address.name!r}")
        return CatalogCredentials(catalog, self._call, self.options.parallelism)

    # ---- snapshot expiry ------------------------------------------------------------------------------
    def tables(self, reference: Reference) -> Iterator[TableMetadata]:
        """The table that the reference is, where its metadata can be read and is still the head."""
        if self._selection.managers.whole:
            raise ConfigurationError(
                f"catalog {self._address.name!r} is a Nessie server, of which only one branch is visible; write to "
                "it with the connector 'nessie'"
            )
        parsed = parse_commit_id(reference.commit_id or "")
        identifier = identifier_of(reference.name)
        if parsed is None or identifier is None or self._selection.leaves_out(reference.name):
            return
        source = parsed[0]
        try:
            what = f"reading {source} of {reference.name}"
            found = self._call(lambda: self._loader.metadata(self._listed(identifier, source), source), what)
        except (ServiceUnavailableError, UnreadableFileError):
            raise
        except NessieGcError as error:
            raise UnreadableFileError(source, one_line(error)) from error
        if found is not None:
            table = table_metadata(found, source, reference, self._selection)
            why = NOT_CALLED_A_TABLE if reference.name in self._not_called_tables else None
            why = why or why_unwritable(self._address.type, table) or why_unloadable(found)
            yield replace(table, unwritable=why)

    def reload(self, table: TableMetadata) -> TableMetadata | None:
        """The table as its catalog has it now."""
        return self._call(lambda: self._commits.reload(table), f"loading table {table.content_key}")

    def with_unused(self, table: TableMetadata, removal: Removal) -> Removal:
        """Reads the manifest lists and the heads of the manifests of all snapshots that stay."""
        return self._call(lambda: self._expiry.with_unused(table, removal), f"loading table {table.content_key}")

    def remove_snapshots(self, table: TableMetadata, removal: Removal) -> None:
        """One commit through PyIceberg; the account needs the right to change the table, and to write its metadata."""
        self._expiry.remove(table, removal)

    def change_tags(self, table: TableMetadata, *, made: Mapping[str, int], deleted: Mapping[str, int]) -> None:
        """One commit through PyIceberg; the account needs the right to change the table, and to write its metadata."""
        change_tags(self._commits, table, made=made, deleted=deleted)

    @cached_property
    def _expiry(self) -> SnapshotExpiry:
        from nessie_gc_iceberg_catalog.expiry import SnapshotExpiry

        return SnapshotExpiry(self._commits)

    @cached_property
    def _commits(self) -> TableCommits:
        """On a catalog of its own, which may write metadata files; that of the collector may not."""
        from nessie_gc_iceberg_catalog.commits import TableCommits

        catalog = self._call(lambda: self._open(writes=True), f"opening catalog {self._address.name!r}")
        return TableCommits(catalog, self._address.type, self._selection, self._address.redact)

    def close(self) -> None:
        """Closes the catalog."""
        with self._lock:
            catalog, self._opened = self._opened, None
            if catalog is not None:
                catalog.close()
                self.__dict__.pop("_loader", None)
            credentials: CatalogCredentials | None = self.__dict__.pop("_credentials", None)
            if credentials is not None:
                credentials.close()
            commits: TableCommits | None = self.__dict__.pop("_commits", None)
            self.__dict__.pop("_expiry", None)
            if commits is not None:
                commits.close()

    # ---- catalog --------------------------------------------------------------------------------------
    @property
    def _catalog(self) -> Catalog:
        with self._lock:
            if self._opened is None:
                self._opened = self._call(self._open, f"opening catalog {self._address.name!r}")
            return self._opened

    def _open(self, *, writes: bool = False) -> Catalog:
        try:
            catalog = self._address.open(writes=writes)
        except ValueError as error:
            if isinstance(error, NessieGcError):
                raise
            reason = self._address.redact(str(error))
            raise ConfigurationError(f"catalog {self._address.name!r} cannot be opened: {reason}") from None
        if _is_nessie(catalog):
            log.warning(
                "catalog %r is a Nessie server: only one branch is visible and every table is frozen; use the "
                "connector 'nessie' to collect it",
                self._address.name,
            )
        return catalog

    def _call(self, call: Callable[[], _T], what: str) -> _T:
        return self._retries(call, what)

    @cached_property
    def _loader(self) -> Loader:
        from nessie_gc_iceberg_catalog.loading import Loader

        options = self.options
        limit = metadata_limit(options.max_metadata_bytes, options.max_unpack_ratio)
        return Loader(self._catalog, self._call, self._reads, options.unreadable_tables, self._selection, limit)

    @cached_property
    def _selection(self) -> Selection:
        return self.options.selection(Managers.of(self._catalog.properties))

    def _list(self) -> Iterator[Listed]:
        return list_rows(self._catalog, self._address.type, self._call, nested=self.options.nested_namespaces)

    def _load_all(self, contents: Iterable[Listed]) -> Iterator[tuple[Listed, ContentStates | None]]:
        """Loads in order, a few ahead of the consumer."""
        loader, stopped = self._loader, threading.Event()
        with ThreadPoolExecutor(self.options.parallelism, thread_name_prefix="iceberg-catalog") as pool:
            ahead: deque[tuple[Listed, Future[ContentStates | None]]] = deque()
            try:
                for listed in contents:
                    ahead.append((listed, pool.submit(until, stopped, partial(loader.load, listed))))
                    if len(ahead) >= 2 * self.options.parallelism:
                        oldest, future = ahead.popleft()
                        yield oldest, future.result()
                while ahead:
                    oldest, future = ahead.popleft()
                    yield oldest, future.result()
            finally:
                stopped.set()
                for _, future in ahead:
                    future.cancel()

    # ---- states ---------------------------------------------------------------------------------------
    def _states(self, reference: Reference, commit: str) -> tuple[ContentStates, int]:
        """The states that a commit is one of, and which."""
        parsed = parse_commit_id(commit)
        identifier = identifier_of(reference.name)
        if parsed is None or identifier is None:
            raise ReferenceNotFoundError(f"{reference.name} at {commit} is not a state of a table of this catalog")
        source, snapshot_id = parsed
        states = self._recall(reference.name, source) or self._load_at(identifier, source)
        position = states.position(snapshot_id)
        if position is None:
            raise ReferenceNotFoundError(f"{commit} of {reference.name} does not exist: no such snapshot is listed")
        return states, position

    def _load_at(self, identifier: tuple[str, ...], source: str) -> ContentStates:
        listed = self._listed(identifier, source)
        what = f"reading {source} of {reference_name(identifier)}"
        states = self._call(lambda: self._loader.load_at(listed, source), what)
        self._remember(states)
        return states

    def _listed(self, identifier: tuple[str, ...], source: str) -> Listed:
        """As the catalog's own listing has it: only some tell the metadata location there."""
        told = self._address.type in TELL_METADATA
        return Listed(identifier=identifier, metadata_location=source if told else None)

    def _remember(self, states: ContentStates) -> None:
        with self._lock:
            self._forget(states.name)
            self._remembered[states.name] = states
            self._remembered_states += _weight(states)
            while self._remembered_states > _REMEMBERED_STATES and len(self._remembered) > 1:
                self._forget(next(iter(self._remembered)))

    def _forget(self, name: str) -> None:
        states = self._remembered.pop(name, None)
        if states is not None:
            self._remembered_states -= _weight(states)

    def _recall(self, name: str, source: str) -> ContentStates | None:
        with self._lock:
            states = self._remembered.get(name)
        return states if states is not None and states.source == source else None


def _is_nessie(catalog: Catalog) -> bool:
    return catalog.properties.get("nessie.is-nessie-catalog") == "true"


def _weight(states: ContentStates) -> int:
    return len(states.snapshots) + len(states.beside)
