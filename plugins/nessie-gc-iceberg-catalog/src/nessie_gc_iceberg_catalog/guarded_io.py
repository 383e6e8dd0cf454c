"""The FileIO through which a catalog's files are read, or written: it asks no host that a location names (S28)."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NoReturn, Self

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest.auth import AUTH_MANAGER
from pyiceberg.io import PY_IO_IMPL, SCHEMA_TO_FILE_IO, FileIO, InputFile, OutputFile, load_file_io

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.hosts import host_refusal
from nessie_gc_core.model.locations import scheme_of
from nessie_gc_core.model.schemes import unread_scheme
from nessie_gc_iceberg_catalog.storage_access import storage_properties

_INNER = "nessie-gc.py-io-impl"
"""The property that keeps the configured FileIO while ours replaces it."""

_READABLE = {*SCHEMA_TO_FILE_IO, "gcs"}
"""The schemes that PyIceberg reads; for the last one it takes PyArrow, without a table of its own."""
_GUARDED, _WRITING = (f"nessie_gc_iceberg_catalog.guarded_io.{name}" for name in ("GuardedFileIO", "WritingFileIO"))


class GuardedFileIO(FileIO):
    """Reads through the FileIO that PyIceberg chooses, and writes nothing."""

    def __init__(self, properties: Mapping[str, Any], said: Mapping[str, str] | None = None) -> None:
        super().__init__(dict(properties))
        self._said = dict(said or {})
        self._opened: dict[str, FileIO] = {}
        self._lock = threading.Lock()

    def without(self, table_properties: Mapping[str, str], config: Mapping[str, str]) -> Self:
        """The same, less what only the table's own properties said: any committer writes those."""
        said = {name: value for name, value in self._said.items() if table_properties.get(name) != value}
        return type(self)(self.properties, {**said, **config})

    def new_input(self, location: str) -> InputFile:
        """The file, where its host may be asked.

        Raises:
            ConfigurationError: the location, or the catalog, names a host that the configuration does not.
        """
        return self._inner_of(location).new_input(location)

    def _inner_of(self, location: str) -> FileIO:
        """The FileIO of the store of a location, whose host may be asked."""
        properties = storage_properties(self.properties, self._said)
        named = _texts(_inner(properties))
        refusal = unread_scheme(scheme_of(location), named, _READABLE) or host_refusal(location, _texts(properties))
        if refusal is not None:
            raise ConfigurationError(f"{location!r} is not opened: {refusal}")
        store = _store_of(location)
        with self._lock:
            if store not in self._opened:
                self._opened[store] = load_file_io(_inner(properties), location)
        return self._opened[store]

    def new_output(self, location: str) -> OutputFile:
        """Refused."""
        _refuse(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Refused."""
        _refuse(location)


class WritingFileIO(GuardedFileIO):
    """Writes as well: for the tables that services keep in a catalog, and nothing else."""

    def new_output(self, location: str) -> OutputFile:
        """The file, where its host may be asked.

        Raises:
            ConfigurationError: as for :meth:`new_input`.
        """
        return self._inner_of(location).new_output(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Deletes what a commit that failed had written."""
        where = location if isinstance(location, str) else location.location
        self._inner_of(where).delete(location)


def guard(catalog: Catalog, configured: Mapping[str, str], *, writes: bool = False) -> None:
    """Creates a catalog read through a guarded FileIO, whatever tables say in their own properties.

    PyIceberg would take endpoints from those, and even the class that reads.
    """
    class_, class_name = (WritingFileIO, _WRITING) if writes else (GuardedFileIO, _GUARDED)
    from_server = {name: value for name, value in _texts(catalog.properties).items() if configured.get(name) != value}
    own: dict[str, Any] = dict(configured)
    if manager := getattr(catalog, "_auth_manager", None):
        own[AUTH_MANAGER] = manager  # who signs requests for the catalog asks it for a token

    def load(properties: Mapping[str, str] | None = None, location: str | None = None) -> FileIO:
        return class_(own, {**from_server, **_texts(properties or {})})

    catalog.__dict__["_load_file_io"] = load
    # Some catalogs load a FileIO from their properties instead; those have no server that adds to them.
    named = {_INNER: configured[PY_IO_IMPL]} if PY_IO_IMPL in configured else {}
    catalog.properties = {**catalog.properties, **named, PY_IO_IMPL: class_name}


def _store_of(location: str) -> str:
    """Scheme and authority; PyIceberg's FileIO remembers the first Azure account and takes it for the next."""
    return "/".join(location.split("/")[:3]) if "://" in location else scheme_of(location)


def _texts(properties: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name, value in properties.items() if isinstance(value, str)}


def _inner(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties with the FileIO that the configuration names, if any."""
    made = dict(properties)
    inner = made.pop(_INNER, None) or made.get(PY_IO_IMPL)
    if inner is None or inner in (_GUARDED, _WRITING):
        made.pop(PY_IO_IMPL, None)
        return made
    return {**made, PY_IO_IMPL: inner}


def _refuse(location: object) -> NoReturn:
    raise ConfigurationError(f"this connector only reads, but was asked to change {location}")
