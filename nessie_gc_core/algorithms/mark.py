"""Mark: from references to live content versions, in threads of the driver."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass

import xxhash

from nessie_gc_core.algorithms.key_table import KeyTable
from nessie_gc_core.algorithms.storable import storable, storable_head
from nessie_gc_core.algorithms.walk import AddContents, CommitWalker
from nessie_gc_core.connectors import RepositoryConnector, VisitedDeduplicator
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.live_sets import ReferenceHead
from nessie_gc_core.model.policies import Reach, ReferencePolicies
from nessie_gc_core.model.repository import ContentVersion, Reference

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkResult:
    """What a mark found and what it cost."""

    heads: tuple[ReferenceHead, ...]
    commits: int
    """Live commits, each counted once."""
    covered: int
    """References for which nothing had to be fetched."""


def mark(
    repository: RepositoryConnector,
    policies: ReferencePolicies,
    deduplicator: VisitedDeduplicator,
    add_contents: AddContents,
    *,
    references: Sequence[Reference],
    parallelism: int = 4,
    walked: Iterable[tuple[str, Reach]] = (),
    progress: Callable[[int], None] = lambda done: None,
) -> MarkResult:
    """Walks all references and adds what is live.

    Args:
        repository: where the references come from.
        policies: how far each is walked.
        deduplicator: remembers walked commits.
        add_contents: takes content versions, from several threads; may get one twice. A version that cannot be held
            comes as one of an unknown type.
        references: the references to walk, as they were listed.
        parallelism: how many are walked at once.
        walked: commits that an earlier run walked, with their reach; walks end there.
        progress: called with how many references are done.

    Raises:
        ConfigurationError: the parallelism is below one.
        NessieGcError: a reference could not be read, or its history is broken (S34); then the whole run is void,
            because contents that could not be checked must not count as unreferenced.
    """
    if parallelism < 1:
        raise ConfigurationError(f"`identify_parallelism` must be at least 1, not {parallelism}")
    failed = threading.Event()
    walker = CommitWalker(
        repository, deduplicator, lambda versions: add_contents([*map(storable, versions)]), stopped=failed.is_set
    )
    for commit_id, reach in walked:
        walker.assume_walked(commit_id, reach)
    chosen = [(reference, policies.for_reference(reference.name)) for reference in references]
    chosen.sort(key=lambda pair: _widest_first(pair[1].reach))
    try:
        with ThreadPoolExecutor(parallelism, thread_name_prefix="mark") as pool:
            futures = [pool.submit(_walk, walker, reference, policy.reach, failed) for reference, policy in chosen]
            try:
                _await(futures, progress)
            except BaseException:  # an interrupt, too: walks that are under way end at their next commit
                failed.set()
                raise
        walker.check(references)
    finally:
        walker.close()
    heads = tuple(
        storable_head(ReferenceHead(name=reference.name, commit_id=reference.commit_id, policy=policy.text))
        for reference, policy in chosen
    )
    return MarkResult(heads=heads, commits=walker.counts.commits, covered=walker.counts.covered)


def _walk(walker: CommitWalker, reference: Reference, reach: Reach, failed: threading.Event) -> None:
    if failed.is_set():
        return
    try:
        walker.walk(reference, reach)
    except BaseException:
        failed.set()
        raise
    log.debug("walked reference %s", reference.name)


def _await(futures: Sequence[Future[None]], progress: Callable[[int], None]) -> None:
    """Waits for all; raises the first error once every walk has stopped."""
    for done, _ in enumerate(as_completed(futures), start=1):
        progress(done)
    for future in futures:
        future.result()


def _widest_first(reach: Reach) -> tuple[bool, float, int]:
    """Orders walks so that later ones end early in what earlier ones cover."""
    since = reach.since.timestamp() if reach.since is not None else float("inf")
    return (not reach.everything, since, -reach.commits)


MAX_UNTIMED = 200_000
"""How many versions without a commit time wait for one that has it."""


class BatchingContents:
    """Collects content versions from many threads, drops most repetitions, and stores them in batches.

    The same version may come with the time of the commit that put it, and from a listing of contents without one. The
    time decides which version is the newest (S7), so versions without one wait until the others are stored.
    """

    def __init__(
        self,
        store: Callable[[Sequence[ContentVersion]], None],
        *,
        batch_size: int = 10_000,
        remembered: int = 1_000_000,
    ) -> None:
        self._store = store
        self._batch_size = batch_size
        self._remembered = remembered
        self._seen = KeyTable()
        self._batch: list[ContentVersion] = []
        self._untimed: dict[bytes, ContentVersion] = {}
        self._lock = threading.Lock()

    def __call__(self, versions: Sequence[ContentVersion]) -> None:
        """Adds versions; whether one is new is settled by the store, exactly."""
        with self._lock:
            for version in versions:
                key = xxhash.xxh3_128_digest(repr((version.identity, version.location)).encode())
                if key in self._seen:
                    continue
                if version.commit_time is None:
                    self._untimed.setdefault(key, version)
                    continue
                self._untimed.pop(key, None)
                if len(self._seen) < self._remembered:
                    self._seen.add(key)
                self._batch.append(version)
            if len(self._batch) >= self._batch_size:
                self._flush()
            if len(self._untimed) > MAX_UNTIMED:
                self._flush_untimed()

    def flush(self) -> None:
        """Stores what is left."""
        with self._lock:
            self._flush()
            self._flush_untimed()

    def _flush_untimed(self) -> None:
        waiting, self._untimed = list(self._untimed.values()), {}
        for start in range(0, len(waiting), self._batch_size):
            self._store(waiting[start : start + self._batch_size])

    def _flush(self) -> None:
        if self._batch:
            self._store(self._batch)
            self._batch = []
