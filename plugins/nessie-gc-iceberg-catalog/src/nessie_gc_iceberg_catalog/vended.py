"""The credentials for storage that a REST catalog gives with its tables, and where they apply."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

from pyiceberg.exceptions import NoSuchIdentifierError, NoSuchTableError

from nessie_gc_core.errors import AccessDeniedError, RepositoryError
from nessie_gc_core.model.credentials import CredentialPlace, StorageCredential
from nessie_gc_core.model.table_properties import WRITE_PATHS
from nessie_gc_iceberg_catalog.listing import Caller, Listed
from nessie_gc_iceberg_catalog.names import identifier_of, reference_name
from nessie_gc_iceberg_catalog.rest import LimitedRestCatalog, LoadedContent

if TYPE_CHECKING:
    from pyiceberg.catalog.rest.scan_planning import StorageCredential as Given

log = logging.getLogger(__name__)

_GONE = (NoSuchTableError, NoSuchIdentifierError)
"""What a catalog raises for a table that it does not have, or cannot have."""


class CatalogCredentials:
    """Loads tables for the sake of what the catalog's answers say of their storage."""

    def __init__(self, catalog: LimitedRestCatalog, call: Caller, parallelism: int) -> None:
        self._catalog = catalog
        self._call = call
        self._parallelism = parallelism
        # PyIceberg keeps only the credentials of one location.
        catalog.__dict__["_resolve_storage_credentials"] = lambda given, _: given

    def places(self, contents: Iterable[Listed]) -> Iterator[CredentialPlace]:
        """Where the files of each table are: its location first, then where it writes.

        A table that cannot be loaded has no place, and nothing is given for its files.
        """
        with ThreadPoolExecutor(self._parallelism, thread_name_prefix="iceberg-credentials") as pool:
            names = (listed.identifier for listed in contents if not listed.is_view)
            found = [*pool.map(self._placed, names)]
        for name, locations in found:
            yield from (CredentialPlace(location=each, owner=name) for each in locations[:1])
        for name, locations in found:
            yield from (CredentialPlace(location=each, owner=name) for each in locations[1:])

    def _placed(self, identifier: tuple[str, ...]) -> tuple[str, list[str]]:
        name = reference_name(identifier)
        try:
            answer = self._loaded(identifier)
        except (AccessDeniedError, RepositoryError) as error:
            log.warning("no credentials are asked for table %s, so configured ones are used for it: %s", name, error)
            return name, []
        if answer is None:
            return name, []
        properties = answer.metadata.get("properties")
        said = properties if isinstance(properties, dict) else {}
        written = [str(said[key]) for key in WRITE_PATHS if said.get(key)]
        home = [] if answer.location is None else [answer.location]
        return name, [*home, *written, *_folder(answer.metadata_location or "")]

    def of(self, name: str) -> Sequence[StorageCredential]:
        """New ones of a table; none if it is gone.

        The catalog is asked for them alone if it says that it can be, else for the table.
        """
        identifier = identifier_of(name)
        if identifier is None:
            return []
        given = self._call(lambda: self._given(identifier), f"loading the credentials of table {name}")
        if given:
            return _parsed(given)
        answer = self._loaded(identifier)
        if answer is None:
            return []
        vended = self._call(answer.credentials, f"loading the credentials of table {name}")
        return _parsed(vended) or StorageCredential.parse(None, answer.config)

    def _given(self, identifier: tuple[str, ...]) -> Sequence[Given]:
        load = cast("Callable[[tuple[str, ...], str], Any]", self._catalog.load_credentials)
        try:
            return cast("Sequence[Given]", load(identifier, ""))
        except (NotImplementedError, *_GONE):
            return []

    def close(self) -> None:
        """Closes the catalog."""
        self._catalog.close()

    def _loaded(self, identifier: tuple[str, ...]) -> LoadedContent | None:
        return self._call(lambda: self._answer(identifier), f"loading table {reference_name(identifier)}")

    def _answer(self, identifier: tuple[str, ...]) -> LoadedContent | None:
        try:
            return self._catalog.answer_for_table(identifier)
        except _GONE:
            return None


def _parsed(given: Sequence[Given]) -> list[StorageCredential]:
    return [parsed for each in given for parsed in StorageCredential.parse(each.prefix or None, each.config)]


def _folder(metadata_location: str) -> list[str]:
    """The folder of the metadata file, unless that is a whole bucket."""
    folder = metadata_location.rpartition("/")[0]
    return [folder] if folder.count("/") > 2 else []
