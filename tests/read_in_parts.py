"""Stands for a cluster and a database: a store whose live sets only workers read, and an engine that has workers."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator
from typing import ClassVar
from uuid import UUID

import pytest
from nessie_gc_memory import MemoryFileDeleter, MemoryFileLister, MemoryLiveSetStore

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services import stored_versions


class Distributed(LocalEngine):
    """Says that its functions run in other processes."""

    distributed: ClassVar[bool] = True


class CountingStore(MemoryLiveSetStore):
    """Says that it has more content versions than it has, or fewer."""

    more = 0

    def count_content_versions(self, live_set_id: UUID) -> tuple[int, int]:
        versions, contents = super().count_content_versions(live_set_id)
        return versions + self.more, contents


class StoreInParts(CountingStore):
    """Gives a whole live set to nobody, and parts to everybody."""

    name = "parts"
    multi_process = True

    def content_versions(
        self, live_set_id: UUID, content_ids: Collection[str] | None = None
    ) -> Iterator[ContentVersion]:
        if content_ids is None:
            raise StoreError("the driver reads a whole live set")
        return super().content_versions(live_set_id, content_ids)

    def content_ids(self, live_set_id: UUID) -> Iterator[str]:
        yield from {version.content_id for version in super().content_versions(live_set_id)}

    def content_versions_of_part(self, live_set_id: UUID, part: int, parts: int) -> Iterator[ContentVersion]:
        for version in super().content_versions(live_set_id):
            if zlib.crc32(repr(version.identity).encode()) % parts == part:
                yield version


class UnreachableStore(CountingStore):
    """Is where only the driver reaches it."""

    name = "unreachable"
    multi_process = True
    attempts: ClassVar[list[int]] = []

    def content_versions_of_part(self, live_set_id: UUID, part: int, parts: int) -> Iterator[ContentVersion]:
        self.attempts.append(part)
        raise StoreError("nobody answers")


def read_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few versions are many, and what works in one process only works, because all workers are in this one."""
    monkeypatch.setattr(stored_versions, "READ_BY_WORKERS", 1)
    monkeypatch.setattr(stored_versions, "PART_VERSIONS", 2)
    for connector in (MemoryFileLister, MemoryFileDeleter):
        monkeypatch.setattr(connector, "executor_safe", True)
