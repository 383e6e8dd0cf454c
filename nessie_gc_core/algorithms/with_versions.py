"""Deletes files together with their noncurrent versions, in buckets that keep them (S15)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Self

from nessie_gc_core.algorithms.delete import delete_batch, said_once
from nessie_gc_core.connectors import FileDeleter, SupportsVersionDeletion
from nessie_gc_core.dataset import Dataset, task_attempt
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus


class OlderVersions(NamedTuple):
    """How many noncurrent versions went with a file; outcomes have it as their reason."""

    versions: int
    bytes: int

    @classmethod
    def parse(cls, reason: str) -> Self | None:
        """What a reason says; ``None``: it says something else."""
        found = re.fullmatch(r"noncurrent versions deleted with it: ([0-9]+) \(([0-9]+) bytes\)", reason)
        return None if found is None else cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"noncurrent versions deleted with it: {self.versions} ({self.bytes} bytes)"  # parsed again


@dataclass(frozen=True, slots=True)
class WithVersions:
    """Deletes files of some stores with all their versions, and all others as ever."""

    stores: frozenset[str]
    """As :func:`store_of` has them of raw locations."""

    def remove(
        self, deleter: FileDeleter, location: str, files: Sequence[FileReference]
    ) -> Iterator[tuple[str, Outcome, str]]:
        """Exactly one outcome for each path, as :func:`delete_batch` has it."""
        if store_of(location) not in self.stores or not isinstance(deleter, SupportsVersionDeletion):
            yield from delete_batch(deleter, location, files)
            return
        asked = [FileVersion(path=file.path, size=file.size, modified=file.modified) for file in files]
        for path, said in said_once(asked, deleter.batch_size, partial(deleter.delete_with_versions, location)):
            yield (path, Outcome.FAILED, said) if isinstance(said, str) else (path, *_outcome(said))


def _outcome(said: VersionOutcome) -> tuple[Outcome, str]:
    """What is missing after a failed attempt of the same task was that attempt's work."""
    if said.status is VersionStatus.DONE:
        return Outcome.DELETED, str(OlderVersions(said.older, said.older_bytes)) if said.older else ""
    if said.status is VersionStatus.MISSING:
        return Outcome.ALREADY_GONE if task_attempt.get() == 0 else Outcome.DELETED, ""
    return Outcome.FAILED, said.reason or "it was not deleted"


def older_versions(outcomes: Dataset) -> OlderVersions:
    """The noncurrent versions that went with some files (:data:`OUTCOMES`)."""
    versions = bytes_ = 0
    for batch in outcomes.where("outcome", [Outcome.DELETED.value]).present("reason").batches():
        for reason in batch.column("reason").to_pylist():
            found = OlderVersions.parse(reason)
            if found is not None:
                versions, bytes_ = versions + found.versions, bytes_ + found.bytes
    return OlderVersions(versions, bytes_)
