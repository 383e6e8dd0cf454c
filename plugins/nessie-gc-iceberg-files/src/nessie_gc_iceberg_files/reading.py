"""Reads whole files by their raw paths."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from nessie_gc_core.connectors import CredentialSource
from nessie_gc_core.errors import ConfigurationError, MissingFileError, NessieGcError, UnreadableFileError
from nessie_gc_core.model.schemes import FILE_IO, unread_scheme
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.fsspec_options import is_read_by_pyiceberg
from nessie_gc_iceberg_files.name_nodes import name_nodes, refusal_of
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.places import SCHEMES, Place, place_of
from nessie_gc_iceberg_files.stores import one_line
from nessie_gc_iceberg_files.traffic import asked
from nessie_gc_iceberg_files.vended_access import vended_properties

if TYPE_CHECKING:
    from pyiceberg.io import FileIO


class FileReader:
    """Reads through our own stores, whose keys stay raw, or through the FileIO that ``py-io-impl`` names.

    A scheme that is neither ours nor fsspec's is read through PyIceberg, and so is one that PyIceberg knows too, as
    long as no ``fsspec.<scheme>`` is configured. PyIceberg's own FileIOs parse a path as a URL and cut it at ``#`` and
    ``?`` (S4), which is why they only serve there and where they are asked for.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._stores = Stores(self._properties)
        self._source: CredentialSource | None = None
        self._file_ios: dict[frozenset[tuple[str, str]], FileIO] = {}
        self._lock = threading.Lock()

    def use_credentials(self, source: CredentialSource) -> None:
        """Where credentials come from that replace the configured ones."""
        self._source = source
        self._stores.use_credentials(source)

    def read(self, path: str, limit: Limit | None = None) -> bytes:
        """The whole file.

        Args:
            path: raw.
            limit: how many bytes it may have.

        Raises:
            MissingFileError: it is certain that there is no such file.
            UnreadableFileError: it cannot be read, or is larger.
            ConfigurationError: the scheme's library is not installed, or a property is wrong.
        """
        try:
            place = place_of(path)
        except ValueError as error:
            raise UnreadableFileError(path, str(error)) from error
        refusal = self._refusal(path, place)
        if refusal is not None:
            raise UnreadableFileError(path, refusal)
        started, found = time.perf_counter(), b""
        try:
            if self._is_through_file_io(place):
                found = self._read_through_file_io(path, limit)
            else:
                found = self._stores.of(place).read(place.key, limit)
        except NessieGcError:
            raise
        except Exception as error:  # whatever a FileIO raises means the same: not read
            if _says_missing(error):
                raise MissingFileError(path, "it does not exist") from error
            raise UnreadableFileError(path, _reason(error)) from error
        finally:
            asked(started, len(found))
        return found

    def _refusal(self, path: str, place: Place) -> str | None:
        """Why a path is not asked for: nobody reads it, or a FileIO would ask any host that it names (S28)."""
        if self._is_through_file_io(place):
            from pyiceberg.io import SCHEMA_TO_FILE_IO

            unread = unread_scheme(place.scheme, self._properties, SCHEMA_TO_FILE_IO)
            if unread is not None:
                return unread
        return refusal_of(path, self._properties)

    def _is_through_file_io(self, place: Place) -> bool:
        """Whether one is asked for, or only PyIceberg knows the scheme, or knows it and nothing is said for fsspec."""
        if FILE_IO in self._properties:
            return True
        if place.scheme in SCHEMES or name_nodes(place, self._properties) is not None:
            return False
        return is_read_by_pyiceberg(place.scheme, self._properties)

    def _read_through_file_io(self, path: str, limit: Limit | None) -> bytes:
        with self._opened_file_io(path).new_input(path).open() as stream:
            if limit is None:
                return bytes(stream.read())
            found = bytes(stream.read(limit.most + 1))
            limit.check_stored(len(found))
            return found + bytes(stream.read())

    def _opened_file_io(self, path: str) -> FileIO:
        made = dict(vended_properties(place_of(path), self._properties, self._source))
        key = frozenset(made.items())
        with self._lock:
            if key not in self._file_ios:
                self._file_ios[key] = _load_file_io(made, path)
            return self._file_ios[key]

    def close(self) -> None:
        """Closes the clients."""
        self._stores.close()


def _load_file_io(properties: dict[str, str], path: str) -> FileIO:
    from pyiceberg.io import load_file_io

    try:
        return load_file_io(properties, path)
    except (ValueError, ImportError) as error:
        raise ConfigurationError(f"no FileIO can be loaded for {path}: {one_line(error)}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the library {error.name} is missing: install it"
    return one_line(error) or type(error).__name__


def _says_missing(error: BaseException) -> bool:
    """Whether an error, or one that caused it, says for certain that the file does not exist."""
    return any(isinstance(cause, FileNotFoundError) or _code(cause) == "NoSuchKey" for cause in _causes(error))


def _code(error: BaseException) -> str | None:
    response = getattr(error, "response", None)
    code = response.get("Error", {}).get("Code") if isinstance(response, Mapping) else None
    return code or getattr(error, "error_code", None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and its explicit causes. What merely happened before may be some other file that was missing."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__
