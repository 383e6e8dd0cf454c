"""Unpacks what others packed, and reads JSON, up to a limit: a few kilobytes can hold gigabytes (S33)."""

from __future__ import annotations

import gzip
import io
import zlib
from dataclasses import dataclass

import pyarrow as pa

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.parsing import TooDeepError, parsed_json
from nessie_gc_core.model.text import plural

MEBIBYTE = 1024 * 1024
ALWAYS_ALLOWED = 16 * MEBIBYTE
"""A file may unpack to so many bytes however small it is."""
MAX_RATIO = 1000
"""The default of the option ``max_unpack_ratio``."""
_BYTES_OF_A_VALUE = 16
"""JSON may have one value for so many bytes of its limit; short values take twenty times their text in memory."""
_OF_A_CONTAINER = 8
"""How many values an object or a list counts as."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class TooMuchError(ValueError):
    """A file has or unpacks to more than a limit allows; the text names the limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """How much one file of some kind may unpack to."""

    option: str
    """The option that sets :attr:`most`."""
    most: int
    """Bytes; JSON may have a sixteenth as many values, of which an object or a list counts as eight."""
    ratio: int = MAX_RATIO
    """How many times its stored size, once it is more than :data:`ALWAYS_ALLOWED`."""

    def __post_init__(self) -> None:
        if self.most < 1 or self.ratio < 1:
            raise ConfigurationError(f"options {self.option!r} and 'max_unpack_ratio' must be at least 1")

    def check_stored(self, size: int) -> None:
        """Checks that a file of so many bytes may be read at all.

        Raises:
            TooMuchError: it may not.
        """
        if size > self.most:
            raise TooMuchError(self.reason)

    @property
    def reason(self) -> str:
        """Why a file that has more is not read."""
        return f"it has more than {plural(self.most, 'byte')}; the limit is {self.option}"

    def room(self, stored: int) -> Room:
        """What a file of so many stored bytes may unpack to."""
        return Room(self, stored)


def metadata_limit(most: int = 256 * MEBIBYTE, ratio: int = MAX_RATIO) -> Limit:
    """That of metadata files, whoever reads them."""
    return Limit(option="max_metadata_bytes", most=most, ratio=ratio)


class Room:
    """How much of one file may still be unpacked."""

    def __init__(self, limit: Limit, stored: int) -> None:
        """Nothing is unpacked yet.

        Args:
            limit: of files of this kind.
            stored: size of the file, as it is stored.
        """
        self._limit = limit
        by_ratio = max(ALWAYS_ALLOWED, stored * limit.ratio)
        self._is_by_ratio = by_ratio < limit.most
        self.left = min(limit.most, by_ratio)
        """Bytes; whoever unpacks asks for one more, so that too much shows."""

    def take(self, data: bytes) -> bytes:
        """The same, counted.

        Raises:
            TooMuchError: it is more than there is room for.
        """
        self.need(len(data))
        self.left -= len(data)
        return data

    def need(self, size: int) -> None:
        """Checks that there is room for so many bytes.

        Raises:
            TooMuchError: there is not.
        """
        if size <= self.left:
            return
        if self._is_by_ratio:
            reason = f"it unpacks to more than {self._limit.ratio:,} times its size; the limit is max_unpack_ratio"
            raise TooMuchError(reason)
        raise TooMuchError(self._limit.reason)


def unpacked(data: bytes, room: Room) -> bytes:
    """A file as its writer packed it: gzip and zstd are known by their first bytes, whatever its name is.

    Raises:
        ValueError: it is damaged or cut off, or (:class:`TooMuchError`) more than there is room for.
    """
    try:
        if data.startswith(_GZIP):
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                return room.take(file.read(room.left + 1))
        if data.startswith(_ZSTD):
            return room.take(unzstd(data, room.left + 1))
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"it is damaged or truncated: {error}") from error
    return room.take(data)


def unpacked_json(data: bytes, limit: Limit) -> bytes:
    """The text of a JSON file that may be packed; what it says takes a few times the limit in memory.

    Raises:
        ValueError: it is damaged or cut off, or (:class:`TooMuchError`) more than a limit allows.
    """
    text = unpacked(data, limit.room(len(data)))
    values = text.count(b",") + _OF_A_CONTAINER * (text.count(b"{") + text.count(b"["))
    if values > limit.most // _BYTES_OF_A_VALUE:
        raise TooMuchError(f"it has too many values; the limit is a sixteenth of {limit.option}")
    return text


def read_json(data: bytes, limit: Limit) -> tuple[bytes, object]:
    """The text of a JSON file that may be packed, and what it says.

    Raises:
        ValueError: it is not complete JSON, is nested too deeply, or (:class:`TooMuchError`) more than a limit allows.
    """
    try:
        text = unpacked_json(data, limit)
        return text, parsed_json(text)
    except (TooMuchError, TooDeepError):
        raise
    except ValueError as error:
        raise ValueError(f"it is not complete JSON: {error}") from error


def unzstd(data: bytes, most: int) -> bytes:
    """At most so many bytes of what zstd packed; to its end if they are fewer.

    Raises:
        OSError: it is damaged or cut off.
    """
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        return bytes(stream.read(most))
