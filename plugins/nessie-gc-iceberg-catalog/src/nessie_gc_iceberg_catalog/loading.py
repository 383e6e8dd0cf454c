"""Loads the states of one table or view from its catalog."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchIcebergTableError, NoSuchTableError, NoSuchViewError
from pyiceberg.io import FileIO
from pyiceberg.table import Table
from pyiceberg.typedef import IcebergBaseModel

from nessie_gc_core.errors import (
    ConfigurationError,
    NessieGcError,
    ReferenceNotFoundError,
    RepositoryError,
    ServiceUnavailableError,
    UnreadableFileError,
)
from nessie_gc_core.model import ICEBERG_VIEW, UNKNOWN_CONTENT
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.unpacking import Limit, metadata_limit, unpacked_json
from nessie_gc_iceberg_catalog.content_types import OTHER_TABLE, UNREADABLE_TABLE, WHOLE_VIEW
from nessie_gc_iceberg_catalog.errors import is_of_catalog, is_of_store
from nessie_gc_iceberg_catalog.guarded_io import GuardedFileIO
from nessie_gc_iceberg_catalog.listing import Caller, Listed
from nessie_gc_iceberg_catalog.names import reference_name
from nessie_gc_iceberg_catalog.rest import LimitedRestCatalog, LoadedContent
from nessie_gc_iceberg_catalog.retries import ReadRetries
from nessie_gc_iceberg_catalog.selection import Selection
from nessie_gc_iceberg_catalog.states import (
    ContentStates,
    is_view,
    other_states,
    parse_states,
    unknown_states,
    unreadable_states,
    view_states,
    whole_view_states,
)

log = logging.getLogger(__name__)

_WITHOUT_METADATA: Mapping[str, Callable[[str, str], ContentStates]] = {
    WHOLE_VIEW: whole_view_states,
    UNKNOWN_CONTENT: unknown_states,
    UNREADABLE_TABLE: unreadable_states,
    OTHER_TABLE: other_states,
}
"""Contents whose metadata is not read here: how a source begins, and what it means."""


class Loader:
    """Turns what a catalog lists into states. What cannot be read is frozen, or stops the run, never left out."""

    def __init__(
        self,
        catalog: Catalog,
        call: Caller,
        reads: ReadRetries,
        unreadable: Mapping[str, str],
        selection: Selection,
        limit: Limit | None = None,
    ) -> None:
        self._catalog = catalog
        self._call = call
        self._reads = reads
        self._unreadable = unreadable
        self._selection = selection
        self._limit = limit or metadata_limit()

    def load(self, listed: Listed) -> ContentStates | None:
        """The states of a table or view; ``None`` if it is gone since it was listed.

        Raises:
            NessieGcError: its catalog gives nothing at all.
        """
        name = reference_name(listed.identifier)
        if listed.location is not None:
            return other_states(name, listed.location, listed.metadata_location)
        if listed.problem is not None:
            return self._unlocated(name, listed)
        if listed.metadata_location is not None:
            return self._from_location(name, listed.metadata_location, called_view=listed.is_view)
        try:
            states = self._load_view(listed, name) if listed.is_view else self._load_table(listed, name)
            if states is None and name in self._unreadable:  # some servers say so of a table whose metadata is gone
                return unreadable_states(name, self._unreadable[name])
            return states
        except NessieGcError as error:
            if name not in self._unreadable and is_of_catalog(error):
                raise
            return self.unloadable(listed, one_line(error))

    def unloadable(self, listed: Listed, why: str) -> ContentStates:
        """What the catalog lists and does not load: unknown, and wherever it may be."""
        name = reference_name(listed.identifier)
        log.warning("%s is unknown, because its catalog lists it and does not load it: %s", name, why)
        return self._frozen(name, None, None)

    def load_at(self, listed: Listed, source: str) -> ContentStates:
        """The states at an earlier head, even where the table moved on or is gone since.

        Raises:
            ReferenceNotFoundError: that metadata file no longer exists.
        """
        name = reference_name(listed.identifier)
        content_type, _, rest = source.partition(":")
        if content_type == ICEBERG_VIEW:
            return self._view_at(name, rest)
        if content_type in _WITHOUT_METADATA:
            return _WITHOUT_METADATA[content_type](name, rest) if rest else unknown_states(name, None)
        io = self._file_io(source)
        if listed.metadata_location is None:
            loaded = self._call(lambda: self._loaded_or_none(listed.identifier), f"loading table {name}")
            io = io if loaded is None else loaded[1]
        read = partial(_read_if_there, io, name, self._limit)
        return parse_states(name, source, self._read(name, source, read), self._selection)

    def metadata(self, listed: Listed, source: str) -> bytes | Mapping[str, Any] | None:
        """A table's metadata, as JSON or what is in it; ``None`` if the table has another one now, or is none.

        Raises:
            UnreadableFileError: its store does not give it, or did not give it when the table was listed; whatever
                else it is, the catalog raised it.
        """
        name = reference_name(listed.identifier)
        content_type, _, rest = source.partition(":")
        if content_type == UNKNOWN_CONTENT:
            why = "its metadata could not be read when it was listed; the log says why"
            raise UnreadableFileError(rest or name, why)
        if content_type in _WITHOUT_METADATA:
            return None
        if listed.metadata_location is not None:
            try:
                return self._read(name, source)
            except NessieGcError as error:
                raise UnreadableFileError(source, one_line(error)) from error
        try:
            loaded = self._call(lambda: self._loaded_or_none(listed.identifier), f"loading table {name}")
        except ServiceUnavailableError as error:
            if is_of_store(error.__cause__):
                raise UnreadableFileError(source, one_line(error)) from error
            raise
        return None if loaded is None or loaded[0].metadata_location != source else loaded[0].metadata

    def _load_table(self, listed: Listed, name: str) -> ContentStates | None:
        loaded = self._call(lambda: self._loaded_or_none(listed.identifier), f"loading table {name}")
        if loaded is None:
            return None
        answer, _ = loaded
        try:
            if answer.metadata_location is None:
                raise RepositoryError("the catalog does not say where its metadata is")
            return parse_states(name, answer.metadata_location, answer.metadata, self._selection)
        except Exception as error:  # noqa: BLE001 - whatever is odd in it: this table is unreadable, no other is
            log.warning("table %s is frozen: its metadata is invalid (%s)", name, one_line(error))
            return self._frozen(name, _place_of(answer), answer.metadata_location)

    def _loaded_or_none(self, identifier: tuple[str, ...]) -> tuple[LoadedContent, FileIO] | None:
        """What the catalog says of a table, and what reads its files; ``None``: it is gone."""
        try:
            if isinstance(self._catalog, LimitedRestCatalog):
                answer = self._catalog.answer_for_table(identifier)
                return answer, self._catalog.io_of(answer)
            table = self._catalog.load_table(identifier)
        except NoSuchIcebergTableError:
            raise
        except NoSuchTableError:
            return None
        io = table.io
        if isinstance(io, GuardedFileIO):
            io = io.without(table.metadata.properties, table.config)
        metadata = cast("Mapping[str, Any]", parsed_json(metadata_text(table)))
        where = table.metadata_location or None
        return LoadedContent(metadata_location=where, metadata=metadata, config=table.config), io

    def _load_view(self, listed: Listed, name: str) -> ContentStates | None:
        """Its whole location is frozen: PyIceberg does not tell the metadata location of a view."""
        location = self._call(lambda: self._view_location(listed.identifier), f"loading view {name}")
        return None if location is None else whole_view_states(name, location)

    def _view_location(self, identifier: tuple[str, ...]) -> str | None:
        try:
            if isinstance(self._catalog, LimitedRestCatalog):
                return _place_of(self._catalog.answer_for_view(identifier))
            return self._catalog.load_view(identifier).metadata.location
        except NoSuchViewError:
            return None

    def _from_location(self, name: str, metadata_location: str, *, called_view: bool) -> ContentStates:
        if called_view:
            return self._view_at(name, metadata_location)
        try:
            text = self._read(name, metadata_location)
            if is_view(text):
                return self._view_at(name, metadata_location)
            return parse_states(name, metadata_location, text, self._selection)
        except Exception as error:  # noqa: BLE001 - whatever a FileIO raises: this table is unreadable, no other is
            log.warning("table %s is frozen: its metadata cannot be read (%s)", name, one_line(error))
            return self._frozen(name, _table_location(metadata_location), metadata_location)

    def _unlocated(self, name: str, listed: Listed) -> ContentStates:
        """What the catalog lists without saying where it is: unknown, where its metadata was or wherever it may be."""
        log.warning("table %s is unknown: %s", name, listed.problem)
        previous = listed.previous_location
        return self._frozen(name, None if previous is None else _table_location(previous), previous)

    def _frozen(self, name: str, location: str | None, metadata_location: str | None) -> ContentStates:
        """A table that could not be read: that is said as unknown, unless the configuration knows it."""
        if name in self._unreadable:
            return unreadable_states(name, self._unreadable[name])
        return unknown_states(name, location, metadata_location)

    def _view_at(self, name: str, metadata_location: str) -> ContentStates:
        """A view; where it is left out, what its metadata says of its place is asked, beside where that file is."""
        if not self._selection.leaves_out(name):
            return view_states(name, metadata_location)
        homes = [_table_location(metadata_location)]
        try:
            view: Any = parsed_json(self._read(name, metadata_location))
            homes.append(str(view["location"]))
        except Exception as error:  # noqa: BLE001 - its reader says why: a view that cannot be read is unknown
            log.warning("view %s cannot be read (%s)", name, type(error).__name__)
        return view_states(name, metadata_location, left_out=list(dict.fromkeys(homes)))

    def _read(self, name: str, location: str, read: Callable[[str], bytes] | None = None) -> bytes:
        """A metadata file, however busy its store is."""
        reads = self._read_once if read is None else read
        return self._reads(lambda: reads(location), f"reading {location} of {name}", location)

    def _read_once(self, location: str) -> bytes:
        return _read(self._file_io(location), self._limit, location)

    def _file_io(self, location: str) -> FileIO:
        return self._catalog._load_file_io(location=location)


def metadata_text(table: Table) -> str:
    """The metadata of a loaded table as JSON, to read on; PyIceberg's own method refuses format version 3."""
    return IcebergBaseModel.model_dump_json(table.metadata)


def _read(io: FileIO, limit: Limit, location: str) -> bytes:
    try:
        with io.new_input(location).open() as stream:
            data = bytes(stream.read(limit.most + 1))
            limit.check_stored(len(data))
            data += bytes(stream.read())
        return unpacked_json(data, limit)
    except ConfigurationError:
        raise
    except ValueError as error:
        raise RepositoryError(f"{location} cannot be read: {error}") from error


def _read_if_there(io: FileIO, name: str, limit: Limit, location: str) -> bytes:
    try:
        return _read(io, limit, location)
    except FileNotFoundError as error:
        raise ReferenceNotFoundError(f"{location} of {name} no longer exists") from error


def _place_of(answer: LoadedContent) -> str:
    """Where the files of a table or view are.

    Raises:
        RepositoryError: its catalog tells nothing of that.
    """
    if answer.location is not None:
        return answer.location
    if answer.metadata_location is None:
        raise RepositoryError("the catalog says neither where its metadata is nor where its files are")
    return _table_location(answer.metadata_location)


def _table_location(metadata_location: str) -> str:
    """The parent of the metadata folder."""
    return metadata_location.rpartition("/")[0].removesuffix("/metadata")
