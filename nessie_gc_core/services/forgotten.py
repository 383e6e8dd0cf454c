"""Forgotten tables: what lies below a warehouse, is a table by its files, and is known to nobody (S20).

A catalog without a history, and a Nessie whose branch is gone, keep no trace of a table that was dropped before the
first live set. Since when nobody needs it cannot be known; but where all of its files are older than a live set that
was marked long ago, and neither that live set nor anything since knows its place, it has been gone for that long.

The same holds for a table of a catalog that this live-set store has never seen, of which nothing here can know. So only
somebody who knows the warehouse can say that it is searched.
"""

from __future__ import annotations

import functools
import itertools
import logging
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from nessie_gc_core.algorithms.count import StoredCounts
from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.algorithms.forgotten import Apart, FoundTable, find_tables
from nessie_gc_core.algorithms.guard import StoreAges
from nessie_gc_core.algorithms.listing import list_units
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.algorithms.units import SweepPlan, plan_units
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import to_rows, version_rows
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus
from nessie_gc_core.model.locations import home_of_metadata, store_of
from nessie_gc_core.model.relations import CONTENT_VERSIONS, PROBLEM, VERSION_FILES
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.services.clocks import store_ages
from nessie_gc_core.services.finding_parameters import DroppedRule
from nessie_gc_core.services.preconditions import check_executors
from nessie_gc_core.services.run import SweepRun
from nessie_gc_core.services.scope import readers_of

log = logging.getLogger(__name__)

_HOMES = pa.schema([VERSION_FILES.field("content_id"), VERSION_FILES.field("location")])
_NOT_MARKED = frozenset({LiveSetStatus.IDENTIFY_IN_PROGRESS, LiveSetStatus.IDENTIFY_FAILED})
_REMEMBERED = 100_000
"""Of how many raw locations the place is remembered."""


class ForgottenTables:
    """Looks for them below the warehouses of a rule."""

    def __init__(self, run: SweepRun, rule: DroppedRule, witness: LiveSet) -> None:
        """Takes an earlier live set of the same repository, which was marked to its end for long enough before."""
        self._run, self._rule, self._witness = run, rule, witness
        self._plan = self._warehouses()
        self._spellings = Spellings(self._plan.rules)
        self.place = functools.lru_cache(_REMEMBERED)(self._place)
        """Under which canonical prefix a raw location is compared; ``None`` where it cannot be."""

    def versions(self, known: Iterable[str]) -> list[ContentVersion]:
        """Each as a content version with its place as content id, by its newest metadata file.

        Args:
            known: further raw locations of which somebody knows; what overlaps them is none.
        """
        tables: dict[str, list[FoundTable]] = {}
        for table in find_tables(self._listed(), self._run.registry.metadata_names()):
            place = self.place(table.location)
            if place is not None and self._is_old(table):
                tables.setdefault(place, []).append(table)
        apart = Apart(tables)
        if not tables:
            return []
        for raw in itertools.chain(known, self._in_live_sets(), self._registered()):
            place = self.place(raw)
            if place is not None:
                apart.take_out(place)
        log.info("%d of %d tables below the warehouses are known to nobody", len(apart.left), len(tables))
        return [_version(place, table) for place in apart.left for table in tables[place]]

    # ---- what is stored -------------------------------------------------------------------------------
    def _warehouses(self) -> SweepPlan:
        """What is listed."""
        run = self._run
        rules = run.choice.rules()
        plan = plan_units(self._rule.under, rules, run.parameters.allowed(rules))
        with OpenConnectors(run.choice) as connectors:
            for unit in plan.units:
                for location in unit.locations:
                    check_executors(run.engine, type(connectors.lister(location)))
        return plan

    def _listed(self) -> Dataset:
        """All files of the warehouses of which the listing can be trusted."""
        run, plan = self._run, self._plan
        stored = list_units(run.engine, plan.units, run.choice, plan.rules)
        problems = StoredCounts(stored).problems
        for unit, problem in problems.items():
            run.report.warn(f"no tables are looked for below {unit}: {problem}")
        return stored.where("unit", sorted(problems), negate=True)

    def _is_old(self, table: FoundTable) -> bool:
        """Whether the witness could have been swept for all files of a table (S8)."""
        return table.modified <= self._ages[store_of(table.metadata_location)].newest_deletable

    @functools.cached_property
    def _ages(self) -> dict[str, StoreAges]:
        """What the clock of every store says about files that a sweep of the witness would have found."""
        locations = (location for unit in self._plan.units for location in unit.locations)
        witness = self._witness
        return store_ages(locations, self._rule.age, witness.references_listed or witness.created, self._run)

    def _place(self, raw: str) -> str | None:
        try:
            return self._spellings.place(self._plan.rules.canonical_prefix(raw))
        except UnknownLocationError:
            return None

    # ---- what is known --------------------------------------------------------------------------------
    def _in_live_sets(self) -> Iterator[str]:
        """Raw locations that live sets have: those of the repository since the witness, and of all others the last."""
        run = self._run
        live = frozenset(run.store.content_ids(run.live_set.id))
        gone: dict[str, ContentVersion] = {}
        for live_set in self._asked():
            mine = live_set.repository == run.live_set.repository
            for version in run.store.content_versions(live_set.id):
                yield from places_of(version)
                if not mine or version.content_id not in live:
                    gone.setdefault(version.content_id, version)
            yield from (location for _, location in run.store.base_locations(live_set.id))
        yield from (location for _, location in homes_of(list(gone.values()), run))

    def _asked(self) -> Iterator[LiveSet]:
        newest: dict[str, LiveSet] = {}
        for live_set in sorted(marked_live_sets(self._run), key=lambda each: each.created):
            newest[live_set.repository] = live_set
            if live_set.created >= self._witness.created:
                yield live_set
        yield from (live_set for live_set in newest.values() if live_set.created < self._witness.created)

    def _registered(self) -> Iterator[str]:
        """Locations of contents that were seen since the witness; of other repositories ever."""
        run = self._run
        mine = run.live_set.repository
        for repository in sorted({mine, *(live_set.repository for live_set in run.store.live_sets())}):
            for seen in run.store.seen_contents(repository):
                if repository != mine or seen.last_seen >= self._witness.created:
                    yield seen.location


def _version(place: str, table: FoundTable) -> ContentVersion:
    return ContentVersion(
        content_id=place,
        content_type=table.content_type,
        metadata_location=table.metadata_location,
        snapshot_id=None,
        content_key="",
        commit_id="",
    )


def places_of(version: ContentVersion) -> Iterator[str]:
    """Where a content version lies as far as it says so itself."""
    if version.metadata_location is not None:
        yield home_of_metadata(version.metadata_location)
    if version.location is not None:
        yield version.location


def homes_of(versions: Sequence[ContentVersion], run: SweepRun) -> Iterator[tuple[str, str]]:
    """Content ids and raw base locations of some versions by their metadata; nothing of those that cannot be read."""
    if not versions:
        return
    readers = readers_of({version.content_type for version in versions}, run)
    types = sorted(type_ for reader in readers for type_ in reader.content_types)
    rows = run.engine.dataset(version_rows(iter(versions)), CONTENT_VERSIONS).where("content_type", types)
    files = rows.spread(["metadata_location"]).flat_map(ReadVersions(run.choice))
    homes = files.where("kind", [PROBLEM], negate=True).present("location").select(_HOMES).distinct(_HOMES.names)
    for batch in homes.batches():
        for content_id, location in to_rows(batch, *_HOMES.names):
            yield str(content_id), str(location)


def marked_live_sets(run: SweepRun) -> Iterator[LiveSet]:
    """All live sets of the store that were marked to their end, whatever their repository."""
    return (live_set for live_set in run.store.live_sets() if live_set.status not in _NOT_MARKED)
