"""What of the tables of a branch need not be listed any more: snapshots that no live commit of any reference has.

A live commit keeps its own metadata file, which lists what it needs, so nothing that is decided here costs a file. It
decides which snapshots the newest metadata offers for time travel, and which files metadata tables look for.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from uuid import UUID

from nessie_gc_core.algorithms.expand import named_by, to_open
from nessie_gc_core.algorithms.read_ahead import in_pieces, read_ahead
from nessie_gc_core.algorithms.suspicion import checked_log
from nessie_gc_core.algorithms.units import plan_units
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsTableMetadata
from nessie_gc_core.errors import NessieGcError, SafetyError
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion, Reference
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.table_properties import metadata_folder
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.current_tables import reported_location
from nessie_gc_core.services.expiry.rules import ExpiryRules
from nessie_gc_core.services.heads import contents_at
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.scope import ASKED_AT_ONCE

Needed = Mapping[str, Collection[int | None]]
"""Content id to the snapshots that live commits have of it; ``None`` among them stands for all that are listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedVersion:
    """A table at the head of a branch, and what need not be listed any more."""

    version: ContentVersion
    """The table as the branch has it."""
    folder: str
    """Raw place of its next metadata file, with a slash at its end."""
    snapshots: int
    """How many snapshots it lists."""
    snapshot_ids: frozenset[int]
    """Those that are left out; empty if none may be removed."""
    left_alone: str | None = None
    """Why nothing may be removed, if that is worth reporting."""
    location: str | None = None
    """Where the table is, as a sweep reports it; ``None``: not known."""


class BranchPlan:
    """Plans for the tables of branches, after a mark."""

    def __init__(self, run: Run, live_set_id: UUID, rules: ExpiryRules, allowed: AllowedLocations) -> None:
        self._run = run
        self._live_set_id = live_set_id
        self._rules = rules
        self._allowed = allowed
        self._marked = {head.name: head.commit_id for head in run.store.get(live_set_id).heads}

    def of(
        self, branch: Reference, connectors: OpenConnectors, earlier: Mapping[str, PlannedVersion] | None = None
    ) -> dict[str, PlannedVersion]:
        """The plans by content id, of tables with snapshots to remove or that are left alone for a reason.

        Args:
            branch: the branch at the commit that counts.
            connectors: opens readers.
            earlier: if given, only these tables, and only what this earlier plan removes.

        Raises:
            NessieGcError: the repository or the live-set store cannot be read.
        """
        versions = {
            each.content_id: each for each in self._tables(branch) if earlier is None or each.content_id in earlier
        }
        needed = self._needed(branch, versions)
        planned: dict[str, PlannedVersion] = {}

        def look(version: ContentVersion) -> list[PlannedVersion]:
            wanted = None if earlier is None else earlier[version.content_id].snapshot_ids
            return [self._planned(branch, version, needed[version.content_id], connectors, wanted)]

        at_once = self._at_once()
        with closing(read_ahead(versions.values(), look, at_once=at_once)) as found:
            for number, each in enumerate(found, start=1):
                self._run.tell(f"look at {branch.name}", number, len(versions))
                planned[each.version.content_id] = each
        return planned

    def _at_once(self) -> Callable[[ContentVersion], int]:
        choice = self._run.choice
        return lambda version: choice.reads_at_once(version.metadata_location) if version.metadata_location else 1

    def _tables(self, branch: Reference) -> Iterator[ContentVersion]:
        for version in contents_at(self._run.repository, branch):
            if version.content_type == ICEBERG_TABLE and self._rules.is_meant(version.content_key):
                yield version

    # ---- what live commits need -----------------------------------------------------------------------
    def _needed(self, branch: Reference, versions: Collection[str]) -> Needed:
        """By the mark, and by what was committed to the branch since; no engine is started for that."""
        needed: dict[str, set[int | None]] = {id_: set() for id_ in versions}
        for ids in in_pieces(versions, ASKED_AT_ONCE):
            for each in self._run.store.content_versions(self._live_set_id, ids):
                needed[each.content_id].add(each.snapshot_id)
        for each in self._since_mark(branch):
            if each.content_id in needed:
                needed[each.content_id].add(each.snapshot_id)
        return needed

    def _since_mark(self, branch: Reference) -> Iterator[ContentVersion]:
        repository, marked = self._run.repository, self._marked.get(branch.name)
        log = checked_log(repository, branch)
        try:
            for entry in itertools.takewhile(lambda entry: entry.commit_id != marked, log):
                if entry.operations is None:
                    yield from repository.contents(replace(branch, commit_id=entry.commit_id))
                    continue
                yield from (operation.content for operation in entry.operations if operation.content is not None)
        finally:
            if isinstance(log, Generator):
                log.close()

    # ---- one table ------------------------------------------------------------------------------------
    def _planned(
        self,
        branch: Reference,
        version: ContentVersion,
        needed: Collection[int | None],
        connectors: OpenConnectors,
        wanted: frozenset[int] | None,
    ) -> PlannedVersion:
        nothing = PlannedVersion(version=version, folder="", snapshots=0, snapshot_ids=frozenset())
        try:
            with connectors.reader(ICEBERG_TABLE) as reader:
                assert isinstance(reader, SupportsTableMetadata)
                opened = to_open(version, self._run.choice.rules())
                table = reader.table_metadata(opened, reference=branch.name)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises is about this table alone (S18)
            self._run.report.unreadable[named_by(version)] = one_line(error)
            return replace(nothing, left_alone=one_line(error))
        if table is None:
            return nothing
        nothing = replace(
            nothing, snapshots=len(table.snapshots), location=reported_location(table.location, self._run)
        )
        try:
            going = self._going(table, version, needed)
        except NessieGcError as error:
            return replace(nothing, left_alone=one_line(error))
        going = going if wanted is None else going & wanted
        folder = metadata_folder(table.location, table.properties)
        refusal = self._refusal(table, folder, version) if going else None
        if refusal is not None:
            return replace(nothing, left_alone=refusal)
        return replace(nothing, folder=folder, snapshot_ids=going)

    def _going(self, table: TableMetadata, version: ContentVersion, needed: Collection[int | None]) -> frozenset[int]:
        """The snapshots that are old enough, and that nothing needs.

        Branches and tags inside the metadata stay whatever their age, and so do their snapshots.
        """
        lasting = {name: replace(ref, max_ref_age_ms=None) for name, ref in table.refs.items()}
        retention = replace(self._rules.of(table), max_ref_age=timedelta.max)
        going = self._rules.expired(replace(table, refs=lasting), retention).snapshot_ids
        if None in needed or version.snapshot_id is None:
            return frozenset()
        for asked in sorted(retention.snapshot_ids.intersection(needed)):
            raise SafetyError(f"snapshot {asked} of {table.content_key} cannot expire: a live commit needs it")
        held = {ref.snapshot_id for ref in table.refs.values()} | table.held | {version.snapshot_id}
        return going - held - frozenset(id_ for id_ in needed if id_ is not None)

    def _refusal(self, table: TableMetadata, folder: str, version: ContentVersion) -> str | None:
        """Why nothing is written into the folder of its metadata, which anybody may name who can commit (S13)."""
        rules, path = self._run.choice.rules(), version.metadata_location or ""
        if (rules.to_open(folder), rules.to_open(path)) != (folder, path):
            return f"nothing is written to {folder}: its scheme is only an alias in the configuration"
        plan = plan_units([table.location], rules, self._allowed, shared=[folder])
        for raw in (table.location, folder):
            reason = plan.unknown.get(raw) or plan.refused.get(raw)
            if reason is not None:
                return f"nothing is written to {folder}: {raw} {reason}"
        return None
