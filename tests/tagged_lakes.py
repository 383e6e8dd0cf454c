"""A lake in memory whose states are tagged by time, and what its references are."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from collecting import LakeServices, in_memory
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.model.repository import ReferenceKind
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.report import AutotagReport, TagOutcome
from nessie_gc_core.services.autotag.service import AutotagService

BEGIN = datetime(2026, 5, 4, 12, 10, tzinfo=UTC)
"""A Monday."""


class TaggedLake:
    """A lake with one table on ``main``, and runs of auto-tagging over it."""

    def __init__(self, lake: MemoryLake, services: LakeServices) -> None:
        self.lake, self.services = lake, services
        self.commits: list[tuple[datetime, str]] = []

    def commit(self, at: datetime, *, branch: str = "main") -> str:
        """One more state at a time; gives its commit."""
        self.lake.now = at
        state = self.lake.table("db.t", location="memory://warehouse/db/t").append(f"{len(self.commits)}.parquet")
        commit = self.lake.commit(branch, put(state.version))
        self.commits.append((at, commit))
        return commit

    def run(self, now: datetime, **parameters: Any) -> AutotagReport:
        """Tags, when the clock shows a time."""
        self.lake.now = now
        return AutotagService(AutotagParameters(**parameters)).run(self.services.run())

    @property
    def tags(self) -> dict[str, str | None]:
        """Names of tags to their commits."""
        references = self.lake.history.references()
        return {each.name: each.commit_id for each in references if each.kind is ReferenceKind.TAG}

    @property
    def records(self) -> dict[str, TagRecord]:
        """What the store remembers, by name."""
        store, identity = self.services.store, self.services.repository.identity()
        return {each.name: each for each in store.tags(identity)}  # type: ignore[attr-defined]


@contextmanager
def tagged_lake() -> Iterator[TaggedLake]:
    """One whose clock stands at :data:`BEGIN`."""
    lake = MemoryLake.named(f"tagged-{uuid.uuid4()}")
    lake.now = BEGIN
    with in_memory(lake) as services:
        yield TaggedLake(lake, services)
    MemoryLake.forget(lake.name)


def outcomes(report: AutotagReport) -> dict[str, TagOutcome]:
    """Names to what became of them."""
    return {tag.name: tag.outcome for tag in report.tags}


def policy_of_now() -> str:
    """A policy whose latest tag shows the state of this moment; waits until that is past."""
    now = datetime.now(UTC)
    moment = now.replace(microsecond=0) + timedelta(seconds=1)
    time.sleep((moment - now).total_seconds() + 0.1)
    return f"PT1M=1;delay=PT{moment.second + 60}S"
