"""Snapshot expiry in a repository with its own history: its branches get metadata that lists fewer snapshots.

There is one commit for each branch, whatever the number of its tables, because commits count in cut-off policies. Older
commits still list all snapshots, and all files stay: a sweep deletes them once no live commit needs them any more. So a
commit with an unknown outcome costs nothing, and what was written for a refused commit is left for a sweep (S19).
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsMetadataCommits, SupportsSnapshotRemoval, SupportsTableMetadata
from nessie_gc_core.errors import (
    CommitConflictError,
    CommitUnknownError,
    ConfigurationError,
    NessieGcError,
    UnwritableFileError,
)
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion, Reference, ReferenceKind
from nessie_gc_core.model.table_patterns import any_matches
from nessie_gc_core.model.text import one_line, plural
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.expiry.branch_plan import BranchPlan, PlannedVersion
from nessie_gc_core.services.expiry.commits import SECONDS, Committed
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.report import ExpiredTable, ExpiryReport
from nessie_gc_core.services.expiry.rules import ExpiryRules
from nessie_gc_core.services.heads import contents_at
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.run import Run

log = logging.getLogger(__name__)

_MAY_BE_COMMITTED = (Committed.EXPIRED, Committed.UNKNOWN)
_GONE = "it is no longer on the branch"
_NOTHING = "none of its snapshots may expire any more"


@dataclass(frozen=True, slots=True)
class _Attempts:
    """The tables of one branch, while a commit is tried."""

    planned: dict[str, PlannedVersion]
    """What may be removed, by content id."""
    results: dict[str, ExpiredTable] = field(default_factory=dict)
    """The outcome of a table, by content id."""
    written: dict[str, tuple[PlannedVersion, str]] = field(default_factory=dict)
    """The metadata file that was written for a table, and for what."""

    @property
    def going(self) -> list[PlannedVersion]:
        """The plans that are still open."""
        return [each for id_, each in self.planned.items() if each.snapshot_ids and id_ not in self.results]

    def end(self, outcome: Committed, reason: str | None = None) -> None:
        """Says the outcome of all that are still open."""
        for each in self.going:
            self.end_one(each, outcome, reason)

    def end_one(self, planned: PlannedVersion, outcome: Committed, reason: str | None = None) -> None:
        """Says the outcome of one."""
        self.results[planned.version.content_id] = ExpiredTable(
            table=planned.version.content_key,
            outcome=outcome,
            location=planned.location,
            reason=reason,
            snapshots=planned.snapshots,
            expired=len(planned.snapshot_ids) if outcome is Committed.EXPIRED else 0,
        )


class BranchExpiry:
    """One expiry of branches under way."""

    def __init__(
        self,
        run: Run,
        parameters: ExpireSnapshotsParameters,
        repository: SupportsMetadataCommits,
        *,
        wait: Callable[[float], None] = time.sleep,
    ) -> None:
        """Checks what is given.

        Raises:
            ConfigurationError: a parameter is invalid here, or no plugin writes metadata of tables.
        """
        parameters.check_with_history()
        reader = run.registry.reader_of(ICEBERG_TABLE)
        if reader is None or not (
            issubclass(reader, SupportsSnapshotRemoval) and issubclass(reader, SupportsTableMetadata)
        ):
            raise ConfigurationError("no installed plugin writes metadata of tables; install nessie-gc-iceberg-files")
        self._run = run
        self._parameters = parameters
        self._repository = repository
        self._wait = wait
        self._rules = ExpiryRules(parameters, min(times_now(run)))
        self._looked_at = 0

    def run(self) -> ExpiryReport:
        """Marks what is live, and commits to the branches; the live set is removed again."""
        run, parameters = self._run, self._parameters
        allowed = parameters.allowed(run.choice.rules())
        self._check_policies(self._branches())
        MarkService(parameters.mark_of_history).run(run.seeing(run.repository, alone=True))  # no file goes
        live_set_id = uuid.UUID(run.report.live_set_id)
        tables: list[ExpiredTable] = []
        try:
            self._plan = BranchPlan(run, live_set_id, self._rules, allowed)
            with run.report.phase("commit"), self._lease() as lease, OpenConnectors(run.choice) as connectors:
                for branch in self._branches():
                    try:
                        tables.extend(self._expired(branch, connectors, lease))
                    except NessieGcError as error:
                        if not any(table.outcome in _MAY_BE_COMMITTED for table in tables):
                            raise
                        run.report.unreadable[f"branch {branch.name}"] = one_line(error)  # others are committed to
        finally:
            run.store.delete(live_set_id)
            run.report.live_set_id = None
        self._rules.warn_of_unmatched(run.report)
        run.report.dry_run, run.report.finished = parameters.dry_run, run.clock()
        return ExpiryReport(
            dry_run=parameters.dry_run,
            tables=sorted(tables, key=lambda each: (each.reference or "", each.table)),
            looked_at=self._looked_at,
            files_by_kind={},
            kept_for_positions=self._rules.kept_for_positions,
            files_stay=True,
            collection=run.report,
        )

    def _check_policies(self, branches: Iterable[Reference]) -> None:
        """Refuses policies that count commits: each new commit would push the oldest live one out of the policy.

        Raises:
            ConfigurationError: a branch that is named has one.
        """
        policies = self._parameters.mark_of_history.policies(self._run.clock())
        for branch in branches:
            policy = policies.for_reference(branch.name)
            if policy.reach.commits > 1:
                raise ConfigurationError(
                    f"the cut-off policy {policy.text} of the branch {branch.name!r} counts commits, and this commit "
                    "would push the oldest out; give a duration, such as P30D, or an instant"
                )

    def _lease(self) -> AbstractContextManager[Lease | None]:
        """That of the repository, so that nobody sweeps what is written and not committed yet; a dry run needs none."""
        if self._parameters.dry_run:
            return nullcontext()
        run = self._run
        return hold_lease(
            run.store, [run.repository.identity()], self._parameters.lease, elapsed=run.elapsed, go_on=run.go_on
        )

    def _branches(self) -> list[Reference]:
        """The branches that are named, never a tag."""
        patterns, found = self._parameters.branches, list[Reference]()
        references = list(self._run.repository.references())
        for reference in references:
            if reference.kind is ReferenceKind.BRANCH and any_matches(patterns, reference.name):
                found.append(reference)
        for pattern in patterns:
            if not any(pattern.fullmatch(branch.name) for branch in found):
                self._run.report.warn(f"the pattern {pattern.pattern!r} of `commit_to` matches no branch")
        return found

    def _expired(self, branch: Reference, connectors: OpenConnectors, lease: Lease | None) -> Iterator[ExpiredTable]:
        """The outcome of the tables of one branch."""
        attempts = _Attempts(self._plan.of(branch, connectors))
        self._looked_at += len(attempts.planned)
        for each in attempts.planned.values():
            if each.left_alone is not None:
                attempts.end_one(each, Committed.LEFT_ALONE, each.left_alone)
        if lease is None:
            attempts.end(Committed.EXPIRED)
        else:
            self._commit(branch, attempts, connectors, lease)
        yield from (replace(found, reference=branch.name) for found in attempts.results.values())

    # ---- one branch -----------------------------------------------------------------------------------
    def _commit(self, branch: Reference, attempts: _Attempts, connectors: OpenConnectors, lease: Lease) -> None:
        """Commits, again where someone else changed one of the tables; says the outcome of each."""
        for attempt in range(self._parameters.commit_retries + 1):
            self._write(attempts, connectors)
            going = attempts.going
            if not going:
                return
            lease.check()
            changes = [(each.version, attempts.written[each.version.content_id][1]) for each in going]
            try:
                self._repository.commit_metadata(branch, changes, message=_message(going))
            except CommitConflictError as error:
                now = self._now(branch.name)
                if now is None or attempt == self._parameters.commit_retries:
                    attempts.end(Committed.CONFLICT, one_line(error))
                    return
                log.info("%s; trying again", error)
                self._wait(SECONDS * 2**attempt)
                branch = now
                self._plan_again(branch, attempts, connectors)
            except CommitUnknownError as error:
                self._find_out(branch, attempts, one_line(error))
                return
            except NessieGcError as error:
                attempts.end(Committed.REFUSED, one_line(error))
                return
            else:
                attempts.end(Committed.EXPIRED)
                return

    def _now(self, name: str) -> Reference | None:
        """The branch as it is now; ``None`` if it is gone."""
        kind = ReferenceKind.BRANCH
        found = (each for each in self._run.repository.references() if each.name == name and each.kind is kind)
        return next(found, None)

    def _write(self, attempts: _Attempts, connectors: OpenConnectors) -> None:
        """Writes the metadata files that are not written yet; a table whose file cannot be written is left alone."""

        def write(planned: PlannedVersion) -> str | NessieGcError:
            try:
                with connectors.reader(ICEBERG_TABLE) as reader:
                    assert isinstance(reader, SupportsSnapshotRemoval)
                    return reader.write_without(
                        planned.version, planned.snapshot_ids, folder=planned.folder, now=self._run.clock()
                    )
            except NessieGcError as error:
                return error
            except Exception as error:  # noqa: BLE001 - whatever a reader raises is about this table alone (S18)
                return UnwritableFileError(planned.folder, one_line(error))

        waiting = [each for each in attempts.going if not _is_for(attempts.written.get(each.version.content_id), each)]
        with ThreadPoolExecutor(self._parameters.identify_parallelism, thread_name_prefix="metadata") as pool:
            for planned, written in zip(waiting, pool.map(write, waiting), strict=True):
                if isinstance(written, NessieGcError):
                    attempts.end_one(planned, Committed.REFUSED, one_line(written))
                else:
                    attempts.written[planned.version.content_id] = (planned, written)

    def _plan_again(self, branch: Reference, attempts: _Attempts, connectors: OpenConnectors) -> None:
        """Decides anew about the tables that are still open, as the branch has them by now."""
        before = {each.version.content_id: each for each in attempts.going}
        found = self._plan.of(branch, connectors, before)
        for id_, planned in before.items():
            again = found.get(id_)
            if again is None or not again.snapshot_ids:
                reason = _GONE if again is None else again.left_alone or _NOTHING
                attempts.end_one(planned, Committed.LEFT_ALONE, reason)
            else:
                attempts.planned[id_] = again

    def _find_out(self, branch: Reference, attempts: _Attempts, reason: str) -> None:
        """Says the outcome of a commit that nobody answered for: it was made where the branch shows what was written.

        Where it does not, it may still come.
        """
        try:
            now = self._now(branch.name)
            shown = {} if now is None else _shown(contents_at(self._run.repository, now))
        except NessieGcError as error:  # the server that lost the answer does not tell now either
            log.info("%s", error)
            shown = {}
        for each in attempts.going:
            id_ = each.version.content_id
            is_made = shown.get(id_) == attempts.written[id_][1]
            attempts.end_one(each, Committed.EXPIRED if is_made else Committed.UNKNOWN, None if is_made else reason)


def _shown(contents: Iterator[ContentVersion]) -> Mapping[str, str | None]:
    """Content id to metadata file."""
    return {version.content_id: version.metadata_location for version in contents}


def _is_for(written: tuple[PlannedVersion, str] | None, planned: PlannedVersion) -> bool:
    """Whether a metadata file that was written fits a plan that was made anew."""
    if written is None:
        return False
    before, now = written[0].version, planned.version
    same = (before.metadata_location, before.snapshot_id) == (now.metadata_location, now.snapshot_id)
    return same and (written[0].snapshot_ids, written[0].folder) == (planned.snapshot_ids, planned.folder)


def _message(going: Iterable[PlannedVersion]) -> str:
    """What the history says of the commit."""
    plans = list(going)
    snapshots = sum(len(each.snapshot_ids) for each in plans)
    return (
        f"nessie-gc expire-snapshots: metadata of {plural(len(plans), 'table')} without {plural(snapshots, 'snapshot')}"
    )
