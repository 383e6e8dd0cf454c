"""What a collector may delete from a computed lake, by the letter of the rules and by arithmetic alone.

It knows neither connectors nor collectors, only how the lake is computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from nessie_gc_core.model.policies import CutoffPolicy, Reach
from nessie_gc_memory.mock.changes import MockChanges
from nessie_gc_memory.mock.history import Head, Snapshot
from nessie_gc_memory.mock.lake import MockLake
from nessie_gc_memory.mock.layout import Block, Role
from nessie_gc_memory.mock.spec import MockLakeSpec

_OF_STATES = (Role.METADATA, Role.MANIFEST_LIST, Role.STATISTICS)
_OF_MANIFESTS = (Role.MANIFEST, Role.DATA, Role.DELETE_MANIFEST, Role.DELETES)


@dataclass(frozen=True, slots=True, kw_only=True)
class MockCounts:
    """How many files there are."""

    stored: int
    """Objects in the store."""
    live: int
    """Stored objects that a live state needs."""
    lost: int
    """Data files that a live state needs, and that are missing; of tables whose live manifests can be read."""
    garbage: int
    """Stored objects that a collector deletes."""
    garbage_bytes: int
    """What they hold, in bytes."""
    frozen: int
    """Stored objects that no live state needs, in tables with a live manifest that cannot be read."""


class MockOracle:
    """The files of a lake as it was before any change, under one cut-off policy for all references.

    Args:
        spec: the lake.
        cutoff: a cut-off policy that does not depend on the current time: NONE, a number of commits, or an instant.
        newest: files that are younger are not garbage yet.
    """

    def __init__(self, spec: MockLakeSpec, cutoff: str = "NONE", *, newest: datetime | None = None) -> None:
        self._lake = MockLake(spec, MockChanges())
        self._reach = CutoffPolicy.parse(cutoff, reference_time=spec.newest).reach
        self._newest = newest

    def live_files(self) -> Iterator[str]:
        """Every path that a live state needs, once, whether it is stored or not."""
        for block in self._blocks():
            if self._is_live(block):
                yield from (self._lake.layout.path(block, index) for index in range(block.count))

    def lost(self) -> Iterator[str]:
        """Those of them that are missing, in tables whose live manifests can be read."""
        for block in self._blocks():
            if self._is_live(block) and block.table not in self.frozen_tables:
                for index in range(block.count):
                    if not self._lake.is_stored(block, index):
                        yield self._lake.layout.path(block, index)

    def garbage(self) -> Iterator[str]:
        """Every path that a collector deletes."""
        for block in self._blocks():
            if not self._is_live(block) and block.table not in self.frozen_tables:
                yield from (self._lake.layout.path(block, index) for index in self._old(block))

    def counts(self) -> MockCounts:
        """All of it in numbers, without a single path."""
        stored = live = lost = garbage = garbage_bytes = frozen = 0
        for block in self._blocks():
            there = block.count
            if self._lake.has_gaps(block):
                there = sum(self._lake.is_stored(block, index) for index in range(block.count))
            stored += there
            if self._is_live(block):
                live += there
                lost += 0 if block.table in self.frozen_tables else block.count - there
                continue
            old = len(self._old(block))
            if block.table in self.frozen_tables:
                frozen += old
            else:
                garbage += old
                garbage_bytes += old * self._lake.size(block) if old else 0
        return MockCounts(
            stored=stored, live=live, lost=lost, garbage=garbage, garbage_bytes=garbage_bytes, frozen=frozen
        )

    # ---- what is live ---------------------------------------------------------------------------------
    @cached_property
    def live_states(self) -> frozenset[Snapshot]:
        """Every state that a live commit puts, or that is visible at the last live commit of a reference."""
        states: set[Snapshot] = set()
        history = self._lake.history
        for head in history.heads():
            first = self._oldest_live(head)
            states.update(history.owner(head.line, position) for position in range(first, head.position + 1))
            states.update(history.visible(Snapshot(head.line, history.end_of(first))))
        return frozenset(states)

    def _oldest_live(self, head: Head) -> int:
        """The first position of the oldest live commit of a reference."""
        each = self._lake.spec.tables_per_commit
        first = head.position - each + 1
        while first > 0 and self._lives(head, first - 1):
            first -= each
        return first

    def _lives(self, head: Head, position: int) -> bool:
        """Whether the policy keeps the commit of a state, if it keeps all younger ones."""
        reach: Reach = self._reach
        if reach.everything:
            return True
        if reach.since is not None:
            return self._lake.history.time_of(position) >= reach.since
        return self._lake.history.commits_between(position, head.position) < reach.commits

    @cached_property
    def live_manifests(self) -> frozenset[Snapshot]:
        """Every snapshot whose own manifests a live state has."""
        return frozenset(each for state in self.live_states for each in self._lake.history.sharing(state))

    @cached_property
    def frozen_tables(self) -> frozenset[int]:
        """Tables with a live manifest that is missing or truncated: nothing of theirs may be deleted."""
        broken = (each for each in self.live_manifests if self._lake.is_broken(self._manifest(each)))
        return frozenset(self._lake.history.table_of(each) for each in broken)

    def _manifest(self, snapshot: Snapshot) -> Block:
        return self._lake.layout.block(snapshot, Role.MANIFEST)

    def _blocks(self) -> Iterator[Block]:
        for table in self._lake.tables:
            yield from self._lake.layout.blocks(table)

    def _is_live(self, block: Block) -> bool:
        if block.role in _OF_STATES:
            return block.snapshot in self.live_states
        return block.role in _OF_MANIFESTS and block.snapshot in self.live_manifests

    def _old(self, block: Block) -> Sequence[int]:
        """The numbers of a block's stored files that are old enough."""
        there: Sequence[int] = range(block.count)
        if self._lake.has_gaps(block):
            there = [index for index in there if self._lake.is_stored(block, index)]
        newest = self._newest
        if newest is None:
            return there
        if block.snapshot is not None:
            return there if self._lake.modified(block, 0) <= newest else ()
        return [index for index in there if self._lake.modified(block, index) <= newest]
