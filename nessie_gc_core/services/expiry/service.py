"""The service that expires snapshots: plans, looks for what only they need, commits, and deletes.

The plan is judged before anything is committed, by the mark and the sweep that every collection is made of: the mark
sees the catalog as it will be (:mod:`nessie_gc_core.services.expiry.expected`). The files to delete are recorded,
the commits are made, and the re-check of the sweep then walks the tables as they are. Whatever a commit did not remove
is live there, so a commit that failed, or whose outcome is unknown, costs no file (S19).
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

from nessie_gc_core.algorithms.assets import TableIndex
from nessie_gc_core.algorithms.guard import spare
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.connectors import Service, SupportsMetadataCommits, SupportsSnapshotExpiry
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.model.repository import ICEBERG_SNAPSHOT
from nessie_gc_core.model.table_metadata import Removal, TableMetadata
from nessie_gc_core.model.table_properties import write_paths
from nessie_gc_core.model.text import one_line, plural
from nessie_gc_core.model.verdicts import GONE, Outcome
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.deletion import DEAD
from nessie_gc_core.services.expiry.branches import BranchExpiry
from nessie_gc_core.services.expiry.commits import CommitResult, Committed, Committer
from nessie_gc_core.services.expiry.expected import ExpectedRepository, PlannedTable
from nessie_gc_core.services.expiry.files import (
    Unfinished,
    expired_files,
    forget_gone,
    record_plan,
)
from nessie_gc_core.services.expiry.freed import Freed
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.report import ExpiredTable, ExpiryReport
from nessie_gc_core.services.expiry.rules import ExpiryRules
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.members import delete_together
from nessie_gc_core.services.needed import Located, Needed
from nessie_gc_core.services.preconditions import check_answers
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.steps import judged
from nessie_gc_core.services.sweep import Directions, Purpose, SweepService

_NOT_COMMITTED = "an expired snapshot needs it, but its table was not committed"


@dataclass(frozen=True, slots=True)
class ExpireSnapshotsService(Service[Run]):
    """Expire old snapshots, tags and branches of tables, and delete the files that only they need.

    The rules are Iceberg's: settings of a branch or tag come first, then the options given here, then the properties of
    the table. Files are checked and deleted as by 'gc'; a dry run lists them with their bytes, and commits nothing. In
    a repository with its own history, such as Nessie, the chosen branches get metadata without the snapshots that no
    live commit needs; 'gc' then deletes the files.
    """

    name: ClassVar[str] = "expire-snapshots"
    Parameters: ClassVar[type[ConnectorOptions]] = ExpireSnapshotsParameters

    parameters: ExpireSnapshotsParameters

    def run(self, run: Run) -> ExpiryReport:
        """Expires.

        Raises:
            ConfigurationError: a parameter is invalid, or the repository's connector cannot expire snapshots.
            NessieGcError: something needed for the decision could not be read.
        """
        parameters = self.parameters
        parameters.check(run.choice)
        run.choice.check_plugins(deletes=not parameters.dry_run)
        repository = run.repository
        if isinstance(repository, SupportsMetadataCommits) and not isinstance(repository, SupportsSnapshotExpiry):
            return BranchExpiry(run, parameters, repository).run()
        parameters.check_without_history()
        expirable = _expirable(run)
        check_answers(run)
        run.engine.check()
        return _Expiry(run, parameters, expirable).run()


def _expirable(run: Run) -> SupportsSnapshotExpiry:
    repository = run.repository
    if not isinstance(repository, SupportsSnapshotExpiry):
        raise ConfigurationError(f"the repository connector {repository.name!r} cannot expire snapshots")
    if run.registry.reader_of(ICEBERG_SNAPSHOT) is None:
        raise ConfigurationError(
            f"no installed plugin reads contents of type {ICEBERG_SNAPSHOT}; install nessie-gc-iceberg-files"
        )
    return repository


class _Decision:
    """Decides what may be removed from a table at one time."""

    def __init__(
        self, parameters: ExpireSnapshotsParameters, repository: SupportsSnapshotExpiry, rules: ExpiryRules
    ) -> None:
        self._repository = repository if parameters.clean_expired_metadata else None
        self._rules = rules
        self._lock = threading.Lock()
        self.left_alone: dict[str, str] = {}
        """Selected tables that must stay as they are, with the reason."""
        self.looked_at: set[str] = set()
        """The selected tables."""

    def __call__(self, table: TableMetadata) -> Removal:
        name = table.content_key
        if not self._rules.is_meant(name):
            return Removal()
        retention = self._rules.of(table)
        removal, reason = Removal(), None if table.manager is None else f"it is collected by {table.manager}"
        if reason is None:
            try:
                removal = self._rules.expired(table, retention)
                if self._repository is not None:
                    removal = self._repository.with_unused(table, removal)
            except NessieGcError as error:
                reason = one_line(error)
        if removal and table.unwritable is not None:
            reason = table.unwritable
        with self._lock:
            self.looked_at.add(name)
            if reason is not None:
                self.left_alone[name] = reason
                return Removal()
        return removal


class _Expiry(Purpose):
    """One expiry under way."""

    def __init__(self, run: Run, parameters: ExpireSnapshotsParameters, repository: SupportsSnapshotExpiry) -> None:
        self._run = run
        self._parameters = parameters
        self._rules = ExpiryRules(parameters, min(times_now(run)))
        self._decision = _Decision(parameters, repository, self._rules)
        self._committer = Committer(repository=repository, decide=self._decision, retries=parameters.commit_retries)
        self._expected = ExpectedRepository(run.repository, self._decision, parallelism=parameters.identify_parallelism)
        self._results: dict[str, CommitResult] = {}
        self._freed = Freed()
        self._unfinished: Unfinished | None = None

    def run(self) -> ExpiryReport:
        """Marks what will be live, and sweeps what is not; what a dry run stored is removed again."""
        run, dry_run = self._run, self._parameters.dry_run
        looking = run.seeing(self._expected)
        MarkService(self._parameters.mark).run(looking)
        self._rules.warn_of_unmatched(run.report)
        id_ = uuid.UUID(run.report.live_set_id)
        self._unfinished = Unfinished(run)
        is_needed = bool(self._expected.planned or self._unfinished.locations)
        try:
            if is_needed:
                self._sweep(id_, looking if dry_run else run)
        finally:
            if dry_run or not is_needed:  # nobody should sweep what is not so yet
                delete_together(run.store, id_)
        if not is_needed:
            run.report.live_set_id = None
        run.report.dry_run = dry_run
        return ExpiryReport(
            dry_run=dry_run,
            tables=self._tables(),
            looked_at=len(self._decision.looked_at),
            files_by_kind=self._freed.by_kind(),
            kept_for_positions=self._rules.kept_for_positions,
            collection=run.report,
        )

    def _sweep(self, live_set_id: uuid.UUID, run: Run) -> None:
        parameters = replace(self._parameters.sweep, live_set_id=str(live_set_id))
        remember = not self._parameters.dry_run  # other runs have to know what this repository has, and where
        directions = Directions(purpose=self, remember=remember, on_outcomes=self._count)
        SweepService(parameters, directions).run(run)

    # ---- what the sweep asks --------------------------------------------------------------------------
    def restrict(self, located: Located) -> None:
        """Keeps only the locations of tables with something to remove, and those where earlier runs were stopped."""
        assert self._unfinished is not None
        mine = (place for each in self._expected.planned for place in _raw_places(each.table))
        locations = {*mine, *self._unfinished.locations}
        plan = located.plan
        places = ((location, plan.rules.place_prefix_or_none(location)) for location in locations)
        self._places = {location: place for location, place in places if place is not None}
        plan.keep(self._places.values())

    def chosen(self, verdicts: Dataset, needed: Needed, run: SweepRun) -> Dataset:
        """Files that only expired snapshots need, and those that earlier runs were about to delete."""
        assert self._unfinished is not None
        self._sweep_run = run
        with run.report.phase("expired"):
            index, keys = needed.scope.index, list(FILE_KEYS.names)
            kinds = expired_files(self._expected.planned, needed, run)
            tables = [(each.table.location, each.table.content_key) for each in self._expected.planned]
            self._freed = Freed(kinds, index, TableIndex(tables, run.choice.rules()))
            self._leave_alone_frozen(needed.scope.plan)
            files = kinds.select(FILE_KEYS).union(self._unfinished.keys(index))
            mine = verdicts.semi_join(files, keys).checkpoint()
            self._leave_alone_over_caps(mine, run)
            return mine

    def _leave_alone_frozen(self, plan: SweepPlan) -> None:
        for each in self._expected.planned:
            if self._root(each, plan) is None:
                reason = plan.refused.get(each.table.location)
                self._leave_alone(each, reason or "its location is not swept: see the unknown and unread locations")

    def before_deletion(self, verdicts: Dataset, needed: Needed, run: SweepRun) -> Dataset:
        """Records what to delete, and commits; files of a table are deleted only if its commit was made (S19, S20)."""
        assert self._unfinished is not None
        plan, planned = needed.scope.plan, self._expected.planned
        with run.report.phase("commit"):
            if planned:
                record_plan(verdicts, run)
            self._unfinished.forget_needed(verdicts, plan.roots)
            self._commit([each for each in planned if each.table.content_key not in self._results])
            others = self._with(*(outcome for outcome in Committed if outcome is not Committed.EXPIRED))
            if not others:
                return verdicts
            kept = expired_files(others, needed, run).select(FILE_KEYS).checkpoint()
            return spare(verdicts, kept, _NOT_COMMITTED).checkpoint()

    def _leave_alone_over_caps(self, verdicts: Dataset, run: SweepRun) -> None:
        """Commits nothing to tables whose locations would lose more files than the caps allow."""
        doomed = {unit: files for (unit, verdict), (files, _) in judged(verdicts).items() if verdict == DEAD}
        over = run.parameters.caps.exceeded(doomed, run.report.files_in)
        if not over:
            return
        for each in self._expected.planned:
            places = (self._places.get(raw, "") for raw in _raw_places(each.table))
            reason = next((why for unit, why in over.items() for place in places if place.startswith(unit)), None)
            if reason is not None:
                self._leave_alone(each, reason)

    def _with(self, *outcomes: Committed) -> list[PlannedTable]:
        results = self._results
        return [each for each in self._expected.planned if results[each.table.content_key].outcome in outcomes]

    def left_open(self) -> str | None:
        """Commits with unknown outcomes, or files that could not be deleted: a later run deals with them."""
        if unknown := self._with(Committed.UNKNOWN):
            return str(self._results[unknown[0].table.content_key].reason)
        failed = self._run.report.outcomes[Outcome.FAILED].files
        return f"{plural(failed, 'file')} could not be deleted" if failed else None

    def _commit(self, planned: Sequence[PlannedTable]) -> None:
        """Commits to several tables at once; a lease that is lost ends it."""
        committer = replace(self._committer, check=self._sweep_run.lease.check)

        def commit(each: PlannedTable) -> None:
            committer.check()
            self._results[each.table.content_key] = committer.commit(each)

        with ThreadPoolExecutor(self._parameters.identify_parallelism, thread_name_prefix="commit") as pool:
            for number, _ in enumerate(pool.map(commit, planned), start=1):
                self._run.tell("commit", number, len(planned))

    def _leave_alone(self, planned: PlannedTable, reason: str) -> None:
        self._results[planned.table.content_key] = CommitResult(outcome=Committed.LEFT_ALONE, reason=reason)

    def _root(self, planned: PlannedTable, plan: SweepPlan) -> str | None:
        place = self._places.get(planned.table.location)
        return None if place is None else plan.root_of(place)

    def _count(self, outcomes: Dataset) -> None:
        """Counts what went, and takes it out of what is recorded."""
        wanted = [Outcome.WOULD_DELETE.value] if self._parameters.dry_run else GONE
        self._freed.add(outcomes.where("outcome", wanted))
        if not self._parameters.dry_run and self._unfinished is not None:
            forget_gone(outcomes, self._sweep_run)
            self._unfinished.forget_gone(outcomes)

    # ---- what is said ---------------------------------------------------------------------------------
    def _tables(self) -> list[ExpiredTable]:
        planned = {each.table.content_key for each in self._expected.planned}
        unreadable = {n: why for n, why in self._expected.unreadable.items() if self._rules.is_meant(n)}
        left_alone = {**unreadable, **self._decision.left_alone}
        others = ((name, reason) for name, reason in left_alone.items() if name not in planned)
        alone = [ExpiredTable(table=name, outcome=Committed.LEFT_ALONE, reason=reason) for name, reason in others]
        return sorted([*map(self._table, self._expected.planned), *alone], key=lambda each: each.table)

    def _table(self, planned: PlannedTable) -> ExpiredTable:
        name = planned.table.content_key
        result = self._results.get(name, CommitResult(outcome=Committed.EXPIRED, removal=planned.removal))
        return ExpiredTable(
            table=name,
            outcome=result.outcome,
            location=self._places.get(planned.table.location),
            reason=self._decision.left_alone.get(name, result.reason),
            snapshots=planned.snapshots,
            expired=len(result.removal.snapshot_ids),
            refs=sorted(result.removal.refs),
            schemas=sorted(result.removal.schemas),
            partition_specs=sorted(result.removal.partition_specs),
            files=self._freed.of_table(name),
        )


def _raw_places(table: TableMetadata) -> list[str]:
    """Where a table's files are: its location, and what its properties name for new ones."""
    return [table.location, *write_paths(table.properties)]
