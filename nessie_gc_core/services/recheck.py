"""The re-check of a deletion: what became live since the mark is spared (S9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from nessie_gc_core.algorithms.recheck import HeadsMoved, expand_moved, find_moved
from nessie_gc_core.algorithms.storable import original_type
from nessie_gc_core.algorithms.subtract import with_owners
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.algorithms.unknown import UnknownFinder
from nessie_gc_core.algorithms.unread import UnreadContents
from nessie_gc_core.connectors import ContentToFiles, RepositoryConnector, VisitedDeduplicator
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.model.batches import Row, to_batches
from nessie_gc_core.model.live_sets import LiveSet, ReferenceHead
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.relations import FILE_KEYS, VERDICTS
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.times import Elapsed, elapsed_seconds
from nessie_gc_core.model.verdicts import Verdict
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.settings import SweepSettings

_BECAME_LIVE = "a reference that is new or moved reaches it"


@dataclass(slots=True, kw_only=True)
class Recheck:
    """Looks at the references again and again while files are deleted."""

    engine: Engine
    repository: RepositoryConnector
    settings: SweepSettings
    live_set: LiveSet
    report: GcReport
    plan: SweepPlan
    index: UnitIndex
    readers: Sequence[type[ContentToFiles]]
    finder: UnknownFinder
    known: Dataset
    """:data:`EXPANDED_FILES` that were expanded before, to their end."""
    spared_units: dict[str, str] = field(default_factory=dict)
    """Units of which nothing may go any more, with the reason."""
    elapsed: Elapsed = elapsed_seconds
    """Says how long ago the last look was; a clock that somebody sets back would put the next one off."""
    _newly_live: Dataset | None = None
    _heads: tuple[ReferenceHead, ...] | None = None
    _checked: float | None = None

    def run_if_due(self) -> None:
        """Walks what moved since the last look, where that is long ago; the first time always."""
        now = self.elapsed()
        if self._checked is None:
            self._warn_of_broken_plugins()
        if self._checked is not None and now - self._checked < self.settings.recheck_interval.total_seconds():
            return
        with self.report.phase("recheck"):
            moved = self._moved()
            self._checked = now
            self._heads = moved.heads
            self.report.references_moved += moved.references
            if moved.versions:
                self._spare(moved)

    def _warn_of_broken_plugins(self) -> None:
        """Says that a plugin that cannot be loaded cannot object to a deletion either."""
        for plugin in self.settings.choice.registry().broken:
            self.report.warn(
                f"the plugin {plugin.name!r} is broken ({plugin.error}): if it has a veto, nobody asked it, and a run "
                "that deletes is refused until the plugin is repaired, uninstalled, or left out with --disable-plugin"
            )

    def spare_newly_live(self, verdicts: Dataset) -> Dataset:
        """The same rows (:data:`VERDICTS`), those that became live turned into spared ones."""
        if self._newly_live is None:
            return verdicts
        keys = list(FILE_KEYS.names)
        dead = verdicts.where("verdict", [Verdict.UNREFERENCED.value])
        spared = dead.semi_join(self._newly_live, keys).flat_map(_Spare())
        rest = verdicts.where("verdict", [Verdict.UNREFERENCED.value], negate=True)
        return dead.anti_join(self._newly_live, keys).union(spared).union(rest)

    def _moved(self) -> HeadsMoved:
        recorded = {head.name: head.policy for head in self.live_set.heads}
        policies = ReferencePolicies.from_texts(self.live_set.policies, recorded)
        before = self.live_set.heads if self._heads is None else self._heads
        with self.settings.choice.registry().open(VisitedDeduplicator, self.settings.deduplicator) as deduplicator:
            return find_moved(self.repository, before, policies, deduplicator, parallelism=self.settings.parallelism)

    def _spare(self, moved: HeadsMoved) -> None:
        """Expands what became live, and remembers its files; what cannot be read freezes its units."""
        before = set(self.plan.roots)
        readers = self._readers_of(moved.versions)
        unread = UnreadContents()
        newly = expand_moved(self.engine, moved, self.index, self.settings.choice, readers, self.known, unread.add)
        unread.freeze(self.plan)
        finder = self.finder.with_versions(moved.versions)
        problems = finder.find(newly.version_files, newly.expansion)
        finder.freeze(problems, newly.version_files, self.index, self.plan, strict=self.settings.strict_unknown)
        for unit in before - set(self.plan.roots):
            self.spared_units[unit] = self.plan.why(unit)
        keys = with_owners(newly.expansion.reachable()).distinct(list(FILE_KEYS.names)).checkpoint()
        self._newly_live = keys if self._newly_live is None else self._newly_live.union(keys)

    def _readers_of(self, versions: Iterable[ContentVersion]) -> list[type[ContentToFiles]]:
        found = self.settings.choice.registry().readers_of(original_type(version.content_type) for version in versions)
        return list(dict.fromkeys([*self.readers, *found]))


class _Spare:
    """Turns verdicts into spared ones."""

    schema = VERDICTS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.select(VERDICTS.names).to_pylist())
        spared: Iterator[Row] = (
            tuple({**row, "verdict": Verdict.SPARED.value, "reason": _BECAME_LIVE}.values()) for row in rows
        )
        yield from to_batches(spared, self.schema)
