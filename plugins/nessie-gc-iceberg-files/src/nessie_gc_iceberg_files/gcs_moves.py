"""Moves in one GCS bucket: an object is rewritten by the server, and the checksum of the copy is compared."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from nessie_gc_core.model.files import DeleteOutcome
from nessie_gc_iceberg_files.copied_moves import CopiedMoves
from nessie_gc_iceberg_files.gcs_requests import Call, rewritten
from nessie_gc_iceberg_files.stores import one_line


class GcsObject(NamedTuple):
    """What the bucket says of an object."""

    size: int
    checksum: str
    """CRC32C; a copy has the same."""
    generation: str


class GcsMoves(CopiedMoves[GcsObject]):
    """The requests of a move in one bucket."""

    def __init__(self, bucket: str, call: Call, delete: Callable[[str, str], Awaitable[DeleteOutcome]]) -> None:
        self._bucket = bucket
        self._call = call
        self._delete = delete

    async def stat(self, key: str) -> GcsObject | None:
        """The object's metadata."""
        fields = "size,crc32c,md5Hash,generation"
        try:
            found: Mapping[str, Any] = await self._call(
                "GET", "b/{}/o/{}", self._bucket, key, fields=fields, json_out=True
            )
        except FileNotFoundError:
            return None
        checksum = str(found.get("crc32c") or found.get("md5Hash") or "")
        return GcsObject(int(found["size"]), checksum, str(found.get("generation", "")))

    def is_copy(self, source: GcsObject, there: GcsObject) -> bool:
        """Size and checksum."""
        return bool(source.checksum) and (source.size, source.checksum) == (there.size, there.checksum)

    async def copy(self, key: str, new_key: str, source: GcsObject) -> None:
        """In as many requests as the server wants."""
        await rewritten(self._call, self._bucket, key, new_key, ifSourceGenerationMatch=source.generation)

    async def delete(self, prefix: str, path: str) -> DeleteOutcome:
        """As every deletion."""
        return await self._delete(prefix, path)

    def reason(self, error: Exception) -> str:
        """What the service says."""
        return one_line(error) or type(error).__name__
