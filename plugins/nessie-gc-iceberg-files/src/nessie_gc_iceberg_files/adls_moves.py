"""Moves in one ADLS or blob container: the service copies a blob, and says of the copy where it is from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from azure.core import MatchConditions
from azure.core.exceptions import ResourceNotFoundError

from nessie_gc_core.model.files import DeleteOutcome
from nessie_gc_iceberg_files.copied_moves import CopiedMoves

_PENDING = "pending"
_POLL_SECONDS = 0.5


class AdlsBlob(NamedTuple):
    """What the container says of a blob."""

    url: str
    """Without a query, which may hold a signature."""
    size: int
    md5: bytes
    """Empty if the writer gave none."""
    etag: str
    source: str
    """The URL of the blob that it was copied from, without a query; empty if it is not a whole copy."""


class AdlsMoves(CopiedMoves[AdlsBlob]):
    """The requests of a move in one container."""

    def __init__(
        self,
        container: Any,
        delete: Callable[[str, str], Awaitable[DeleteOutcome]],
        is_directory: Callable[[Any], bool],
        reason: Callable[[BaseException], str],
    ) -> None:
        self._container = container
        self._delete = delete
        self._is_directory = is_directory
        self._reason = reason

    async def stat(self, key: str) -> AdlsBlob | None:
        """The blob's properties."""
        client = self._container.get_blob_client(key)
        try:
            found = await client.get_blob_properties()
        except ResourceNotFoundError:
            return None
        if self._is_directory(found):
            raise OSError("it is a directory")
        copy = found.copy
        source = copy.source if copy is not None and copy.status == "success" else None
        md5 = bytes(found.content_settings.content_md5 or b"")
        return AdlsBlob(_without_query(client.url), int(found.size), md5, str(found.etag), _without_query(source or ""))

    def is_copy(self, source: AdlsBlob, there: AdlsBlob) -> bool:
        """Copied from it, or with the same checksum."""
        same = bool(source.md5) and source.md5 == there.md5
        return source.size == there.size and (same or there.source == source.url)

    async def copy(self, key: str, new_key: str, source: AdlsBlob) -> None:
        """By the service, which may take a while."""
        new = self._container.get_blob_client(new_key)
        answer = await new.start_copy_from_url(
            self._container.get_blob_client(key).url,
            source_etag=source.etag,
            source_match_condition=MatchConditions.IfNotModified,
            match_condition=MatchConditions.IfMissing,
        )
        status = answer.get("copy_status")
        while status == _PENDING:
            await asyncio.sleep(_POLL_SECONDS)
            status = (await new.get_blob_properties()).copy.status
        if status != "success":
            raise OSError(f"the service says of its copy: {status}")

    async def delete(self, prefix: str, path: str) -> DeleteOutcome:
        """As every deletion."""
        return await self._delete(prefix, path)

    def reason(self, error: Exception) -> str:
        """What the service says."""
        return self._reason(error)


def _without_query(url: str) -> str:
    return url.partition("?")[0]
