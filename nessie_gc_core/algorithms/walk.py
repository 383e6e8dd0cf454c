"""Walks the commits of a repository: each commit once in the whole run, whatever the policies.

One log stream runs down each first-parent chain. A walk that comes to a commit that was already walked follows the
local graph instead of the server. Where the graph ends, it hands its reach to the stream at that commit: one that runs
continues to the wider of the two reaches, one that is parked at its cut-off starts again.

Why contents are listed at so few commits: what is visible at a live commit was either put by it or by an older live
commit, or is visible at the oldest live commit of the chain. So a walk that ends inside the live part of another one
adds nothing; the contents at the last live commits are added only where no walk goes further.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from nessie_gc_core.algorithms.commit_graph import CommitGraph
from nessie_gc_core.algorithms.suspicion import checked_log, commit_key, goes_in_circles
from nessie_gc_core.connectors import RepositoryConnector, SupportsCapacity, VisitedDeduplicator
from nessie_gc_core.errors import RepositoryError
from nessie_gc_core.model.policies import Reach
from nessie_gc_core.model.repository import ContentVersion, LogEntry, OperationKind, Reference
from nessie_gc_core.model.times import in_zone

MAX_PARKED_STREAMS = 256
"""How many log streams wait at a cut-off; the oldest is closed, and fetched again if a later walk needs it."""
CONTENTS_BATCH = 1000
"""How many content versions are given away at once."""
GRAPH_CAPACITY = 20_000_000
"""How many commits the graph holds with a deduplicator that does not say how many it remembers."""
_NOTHING = Reach()


class AddContents(Protocol):
    """Takes live content versions; called from several threads."""

    def __call__(self, versions: Sequence[ContentVersion]) -> None:
        """Adds them."""


@dataclass(slots=True, eq=False)
class _Stream:
    """A log stream that has stopped before the commit ``position``."""

    reference: Reference
    entries: Iterator[LogEntry]
    position: bytes
    reach: Reach
    head_reach: Reach = _NOTHING
    """The reach of walks whose head is ``position``: that commit is live for them whatever its time."""
    tips: set[str] = field(default_factory=set)
    """Live children of ``position``; their contents are added if the stream goes no further."""
    pending: LogEntry | None = None
    """The commit at ``position``, where it was already fetched."""
    running: bool = True
    alone: bool = False
    """Walks without looking at what others know: costs more, misses nothing."""

    def left(self, commit_time: datetime) -> Reach:
        return self.reach.at(commit_time).merge(self.head_reach)


@dataclass(slots=True)
class WalkCounts:
    """What a walk cost."""

    commits: int = 0
    """Live commits, each counted once."""
    covered: int = 0
    """References for which nothing had to be fetched, because other walks cover them."""


class CommitWalker:
    """Walks references, possibly in several threads, and gives away every live content version it meets."""

    def __init__(
        self,
        repository: RepositoryConnector,
        deduplicator: VisitedDeduplicator,
        add_contents: AddContents,
        *,
        graph_capacity: int | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Walks nothing yet; by default the graph holds as many commits as the deduplicator remembers."""
        self.counts = WalkCounts()
        self._repository = repository
        self._deduplicator = deduplicator
        self._add_contents = add_contents
        self._stopped = stopped
        self._lock = threading.Lock()
        self._graph = CommitGraph(_capacity(deduplicator) if graph_capacity is None else graph_capacity)
        self._streams: dict[bytes, _Stream] = {}
        self._parked: OrderedDict[bytes, _Stream] = OrderedDict()

    def close(self) -> None:
        """Closes the parked streams."""
        with self._lock:
            for stream in self._parked.values():
                _close(stream.entries)
            self._streams.clear()
            self._parked.clear()

    def assume_walked(self, commit_id: str, reach: Reach) -> None:
        """Takes a commit as walked with a reach by an earlier run (the heads of a live set, for the re-check)."""
        self._deduplicator.should_walk(commit_key(commit_id), reach)

    def check(self, references: Iterable[Reference]) -> None:
        """Makes sure that no commit is its own ancestor over what several walks found: each saw a part of the circle.

        Raises:
            RepositoryError: one is, so that walks have used up their reach without coming to older commits (S34).
        """
        heads = {commit_key(each.commit_id): each for each in references if each.commit_id is not None}
        with self._lock:
            circling = self._graph.first_circle(heads)
        if circling is not None:
            reference = heads[circling]
            raise goes_in_circles(self._repository, reference, str(reference.commit_id))

    def walk(self, reference: Reference, reach: Reach) -> None:
        """Walks one reference from its head to its cut-off; the head is live whatever the reach.

        Raises:
            NessieGcError: the repository could not be read; nothing may be concluded from the run.
        """
        if reference.commit_id is None:
            return
        stream = self._enter(reference, commit_key(reference.commit_id), reach)
        while stream is not None and not self._stopped():
            stream = self._run(stream)

    def _enter(self, reference: Reference, head: bytes, reach: Reach) -> _Stream | None:
        """The stream to run for a reference, if any."""
        with self._lock:
            known = head in self._graph or head in self._streams
            if known:
                done, stream = self._hand_over(head, _NOTHING, reach, None)
                if done:
                    self.counts.covered += stream is None
                    return stream
            fresh = _Stream(reference, checked_log(self._repository, reference), head, _NOTHING, reach, alone=known)
            if not known:
                self._streams[head] = fresh
            return fresh

    def _hand_over(
        self, position: bytes, reach: Reach, head_reach: Reach, tip: str | None
    ) -> tuple[bool, _Stream | None]:
        """Lets others finish a walk that has come to a known commit (the lock is held).

        Returns:
            Whether it is settled, and the parked stream that this thread must run for it, if any. Not settled: the
            graph ends at a commit without a stream.
        """
        while (node := self._graph.get(position)) is not None:
            parent, commit_time = node
            left = reach.at(commit_time).merge(head_reach)
            if left.is_empty or not self._deduplicator.should_walk(position, left) or parent is None:
                return True, None
            position, reach, head_reach, tip = parent, left.below(), _NOTHING, None
        if tip is None and reach.is_empty and head_reach.is_empty:
            return True, None
        stream = self._streams.get(position)
        if stream is None:
            return False, None
        stream.reach, stream.head_reach = stream.reach.merge(reach), stream.head_reach.merge(head_reach)
        if tip is not None:
            stream.tips.add(tip)
        if stream.running:
            return True, None
        stream.running = True
        self._parked.pop(position, None)
        return True, stream

    def _run(self, stream: _Stream) -> _Stream | None:
        """Runs a stream until it ends, is parked, or meets what is known; the stream to run next, if any."""
        while not self._stopped():
            with self._lock:
                wanted = not (stream.reach.is_empty and stream.head_reach.is_empty)
            if wanted and stream.pending is None:
                stream.pending = next(stream.entries, None)
            with self._lock:
                entry = stream.pending
                if entry is None or (left := stream.left(entry.commit_time)).is_empty:
                    tips = self._park(stream)
                    break
                tips, following = self._advance(stream, entry, left)
            self._add(_puts(entry))
            if entry.operations is None:  # what it puts is not known, only what is visible there
                self._add_visible(stream.reference, {entry.commit_id})
            if following is not stream:
                self._add_visible(stream.reference, tips)
                return following
        else:
            return None
        self._add_visible(stream.reference, tips)
        return None

    def _park(self, stream: _Stream) -> set[str]:
        """Parks a stream; returns the tips whose contents must now be added (the lock is held)."""
        tips, stream.tips = stream.tips, set()
        stream.running = False
        if stream.alone:
            _close(stream.entries)
            return tips
        self._parked[stream.position] = stream
        if len(self._parked) > MAX_PARKED_STREAMS:
            _, oldest = self._parked.popitem(last=False)
            self._streams.pop(oldest.position, None)
            _close(oldest.entries)
        return tips

    def _advance(self, stream: _Stream, entry: LogEntry, left: Reach) -> tuple[set[str], _Stream | None]:
        """Takes a live commit and moves the stream before its parent (the lock is held).

        Returns:
            Tips whose contents are to be added now, and the stream to run next: the same, another, or none.
        """
        key = commit_key(entry.commit_id)
        parent = commit_key(entry.parent_id) if entry.parent_id is not None else None
        if key != stream.position:
            raise RepositoryError(f"the commit chain of {stream.reference.name!r} breaks at commit {entry.commit_id}")
        if not stream.alone:
            self._streams.pop(key, None)
            if not self._deduplicator.should_walk(key, left):
                _close(stream.entries)
                return set(), None
            self._graph.add(key, parent, in_zone(entry.commit_time))
        self.counts.commits += 1
        stream.pending, stream.head_reach, stream.reach = None, _NOTHING, left.below()
        if parent is None:
            _close(stream.entries)
            return {entry.commit_id}, None
        stream.tips, stream.position = {entry.commit_id}, parent
        if stream.alone:
            return set(), stream
        return set(), self._continue(stream, entry.commit_id)

    def _continue(self, stream: _Stream, tip: str) -> _Stream | None:
        """The stream to run from ``stream.position`` on, which others may know (the lock is held)."""
        if stream.position not in self._graph and stream.position not in self._streams:
            self._streams[stream.position] = stream
            return stream
        settled, following = self._hand_over(stream.position, stream.reach, _NOTHING, tip)
        if not settled:
            stream.alone = True
            return stream
        _close(stream.entries)
        return following

    def _add(self, versions: Iterator[ContentVersion]) -> None:
        while batch := list(itertools.islice(versions, CONTENTS_BATCH)):
            self._add_contents(batch)

    def _add_visible(self, reference: Reference, tips: set[str]) -> None:
        """Adds everything visible at the given commits."""
        for tip in sorted(tips):
            self._add(iter(self._repository.contents(replace(reference, commit_id=tip))))


def _capacity(deduplicator: VisitedDeduplicator) -> int:
    return deduplicator.capacity() if isinstance(deduplicator, SupportsCapacity) else GRAPH_CAPACITY


def _puts(entry: LogEntry) -> Iterator[ContentVersion]:
    for operation in entry.operations or ():
        if operation.kind is OperationKind.PUT and operation.content is not None:
            yield operation.content


def _close(entries: Iterator[LogEntry]) -> None:
    if isinstance(entries, Generator):
        entries.close()
