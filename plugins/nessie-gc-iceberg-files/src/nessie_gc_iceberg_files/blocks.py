"""Blocks of Avro files, unpacked up to a limit, by every codec that an Iceberg writer uses."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping

import pyarrow as pa

from nessie_gc_core.model.unpacking import MEBIBYTE, Room, unzstd

_CHECKSUM_BYTES = 4
_XZ_MEMORY = 128 * MEBIBYTE
"""More than any preset of xz needs."""


def unpack_block(codec: str, block: bytes, room: Room) -> bytes:
    """The records of a block as they are encoded.

    Raises:
        ValueError: it is damaged or cut off, has more than one packed stream, has a codec that is not known, or unpacks
            to more than there is room for.
    """
    unpack = _CODECS.get(codec)
    if unpack is None:
        raise ValueError(f"its codec is {codec!r}; known are: {', '.join(_CODECS)}")
    try:
        return room.take(unpack(block, room))
    except (OSError, EOFError, zlib.error, lzma.LZMAError, pa.ArrowException) as error:
        raise ValueError(f"a block is damaged: {error}") from error


def _inflated(block: bytes, room: Room) -> bytes:
    """Raw deflate; some writers leave the first bytes of zlib's checksum after it, which then must be right."""
    inflater = zlib.decompressobj(wbits=-zlib.MAX_WBITS)
    plain = inflater.decompress(block, room.left + 1)
    room.need(len(plain))
    rest = inflater.unused_data
    if not inflater.eof or rest != zlib.adler32(plain).to_bytes(_CHECKSUM_BYTES, "big")[: len(rest)]:
        raise ValueError("a block is damaged")
    return plain


def _unsnapped(block: bytes, room: Room) -> bytes:
    """Snappy's own format, with the CRC-32 of the plain bytes after it."""
    size, shift, position = 0, 0, 0
    while shift <= 28:
        byte = block[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    room.need(size)
    packed, checksum = block[:-_CHECKSUM_BYTES], block[-_CHECKSUM_BYTES:]
    plain = bytes(pa.decompress(packed, decompressed_size=size, codec="snappy", asbytes=True))
    if zlib.crc32(plain).to_bytes(_CHECKSUM_BYTES, "big") != checksum:
        raise ValueError("a block is damaged: its checksum is wrong")
    return plain


def _by_stream(make: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> Callable[[bytes, Room], bytes]:
    def unpack(block: bytes, room: Room) -> bytes:
        stream = make()
        plain = stream.decompress(block, room.left + 1)
        room.need(len(plain))
        if not stream.eof or stream.unused_data:
            raise ValueError("a block is damaged")
        return plain

    return unpack


_CODECS: Mapping[str, Callable[[bytes, Room], bytes]] = {
    "null": lambda block, _: block,
    "deflate": _inflated,
    "snappy": _unsnapped,
    "zstandard": lambda block, room: unzstd(block, room.left + 1),
    "bzip2": _by_stream(bz2.BZ2Decompressor),
    "xz": _by_stream(lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY)),
}
