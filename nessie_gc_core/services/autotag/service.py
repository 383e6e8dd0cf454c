"""The service that creates tags by time, and deletes those that no policy keeps any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from nessie_gc_core.connectors import Service, SupportsTableTags, SupportsTags
from nessie_gc_core.errors import ConfigurationError, LeaseHeldError, NessieGcError, SafetyError, StoreError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.table_metadata import MAIN, TableMetadata
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.text import one_line, time_text
from nessie_gc_core.services.autotag.holders import RepositoryHolder, TableHolder
from nessie_gc_core.services.autotag.one_holder import HolderTagging, Only, Tagged, failed
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.recording import Recording
from nessie_gc_core.services.autotag.report import AutotagReport, TagOutcome
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.preconditions import check_one_repository
from nessie_gc_core.services.records import tags_lease
from nessie_gc_core.services.run import Run

Records = Mapping[str, Mapping[str, TagRecord]]
"""What the store remembers of tags, by holder and name."""
_LEASE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class AutotagService(Service[Run]):
    """Create tags by time, and delete those that no policy keeps any more.

    By default, keeps tags for the last 25 hours, 8 days, 6 weeks, 13 months and 3 years, such as
    'date/2019_09_07_15_50'. Each tag shows the state at the end of its period, even if this runs later. Only tags that
    autotag created are deleted; the live-set store records them. In Nessie these are tags of the repository, in a plain
    catalog Iceberg tags of each table.
    """

    name: ClassVar[str] = "autotag"
    Parameters: ClassVar[type[ConnectorOptions]] = AutotagParameters
    uses_engine: ClassVar[bool] = False

    parameters: AutotagParameters
    only: Only | None = None
    """Holder, name and target of the tags that may be made or deleted; ``None``: all that the policies ask for."""

    def run(self, run: Run) -> AutotagReport:
        """Makes and deletes.

        Raises:
            ConfigurationError: a parameter is invalid, the branch is not there, or repository or store have no
                tags.
            LeaseHeldError: another process is doing the same.
            NessieGcError: the repository or the store cannot be read.
        """
        started, parameters = run.elapsed(), self.parameters
        _ = parameters.policies, parameters.patterns
        check_one_repository(run)
        run.choice.check_plugins()
        at = self._at(run)
        recording = Recording(run.store, run.repository)
        recording.warn_of_former(run.report)
        with self._lease(run, recording.identity) as lease:
            tagging = HolderTagging(
                run=run, parameters=parameters, recording=recording, at=at, lease=lease, only=self.only
            )
            found, tables = self._tagged(tagging, recording.by_holder())
        return AutotagReport(
            repository=run.repository.address(),
            at=at,
            dry_run=parameters.dry_run,
            tags=[tag for each in found for tag in each.tags],
            kept=sum(each.kept for each in found),
            others=sum(each.others for each in found),
            tables=tables,
            warnings=tuple(run.report.warnings),
            seconds=run.elapsed() - started,
        )

    def _tagged(self, tagging: HolderTagging, records: Records) -> tuple[list[Tagged], int]:
        """The outcome of the tags of the repository, or of each of its tables, and how many tables there are.

        Raises:
            ConfigurationError: the repository takes no tags, or the branch that is asked for is nowhere.
        """
        run, repository = tagging.run, tagging.run.repository
        if isinstance(repository, SupportsTags):
            if self.parameters.include or self.parameters.exclude:
                run.report.warn(
                    "`include` and `exclude` choose tables, but tags of this repository apply to all "
                    "tables; leave them out"
                )
            holder = RepositoryHolder(repository, repository)
            self._check_branch(run, holder.default, holder.branches, records)
            return [tagging.tag(holder, records.get("", {}))], 0
        if not isinstance(repository, SupportsTableTags):
            raise ConfigurationError(f"the repository connector {repository.name!r} cannot create tags")
        found, branches, ids = list[Tagged](), set[str](), set[str]()
        for name, tables in self._tables(repository, run):
            tagged = Tagged() if isinstance(tables, str) else self._table(tagging, name, tables, records, ids)
            if isinstance(tables, str):
                tagged.say(failed(tables, branch=self._branch, table=name))
            else:
                branches.update(ref for table in tables for ref in table.refs)
            found.append(tagged)
            run.tell("tags", len(found), None)
        if not found and (self.parameters.include or self.parameters.exclude):
            run.report.warn("no table is left by `include` and `exclude`")
        self._check_branch(run, MAIN, branches | {MAIN}, records)
        return found, len(found)

    @property
    def _branch(self) -> str:
        return self.parameters.tag_branch or MAIN

    def _at(self, run: Run) -> datetime:
        """The time that is taken for now: by the clock that shows the least (S8), unless one is given."""
        now, given = times_now(run), self.parameters.at
        if given is None:
            return min(now)
        if given > min(now) and not self.parameters.dry_run:
            raise ConfigurationError(
                f"`at` {time_text(given)} is in the future, whose states are not yet known; use `dry_run` to look ahead"
            )
        return given

    @contextmanager
    def _lease(self, run: Run, identity: str) -> Iterator[Lease | None]:
        """One process at a time makes tags; collectors have their own lease. A dry run needs none."""
        if self.parameters.dry_run:
            yield None
            return
        with ExitStack() as stack:
            names = [tags_lease(identity)]
            try:
                lease = stack.enter_context(
                    hold_lease(run.store, names, _LEASE, elapsed=run.elapsed, go_on=run.go_on, then="run it again")
                )
            except LeaseHeldError as error:
                raise LeaseHeldError(f"another run is already tagging: {error}") from error
            yield lease

    def _check_branch(self, run: Run, default: str, branches: Collection[str], records: Records) -> None:
        """The branch that is tagged must be there, unless it was there once.

        Raises:
            ConfigurationError: it is not, and never was.
        """
        chosen, policies = self.parameters.tag_branch or default, self.parameters.policies
        for policy in policies:
            if policy.branch is not None and not any(map(policy.branch.fullmatch, branches)):
                run.report.warn(f"the branch {policy.branch.pattern!r} of a tag policy matches no branch")
        is_meant = self.parameters.tag_branch is not None or any(each.branch is None for each in policies)
        if chosen in branches or not is_meant:
            return
        if not any(record.branch == chosen for of_holder in records.values() for record in of_holder.values()):
            raise ConfigurationError(f"`tag_branch`: the branch {chosen!r} does not exist")
        run.report.warn(f"the branch {chosen!r} no longer exists; its tags stay as long as their policies keep them")

    # ---- tables ---------------------------------------------------------------------------------------
    def _tables(self, repository: SupportsTableTags, run: Run) -> Iterator[tuple[str, list[TableMetadata] | str]]:
        """The names of the selected tables, with their metadata, or with the reason why it cannot be read."""
        patterns = self.parameters.patterns
        for reference in run.repository.references():
            if not patterns.matches(reference.name):
                continue
            try:
                yield reference.name, list(repository.tables(reference))
            except NessieGcError as error:
                yield reference.name, one_line(error)

    def _table(
        self, tagging: HolderTagging, name: str, tables: Sequence[TableMetadata], records: Records, ids: set[str]
    ) -> Tagged:
        """The outcome of the tags of one table; an error does not stop the others (S18)."""
        tagged = Tagged()
        repository = tagging.run.repository
        assert isinstance(repository, SupportsTableTags)
        for table in tables:
            if table.content_id in ids:
                reason = "another table has the same id: it is registered twice"
                tagged.say(failed(reason, branch=self._branch, table=name, outcome=TagOutcome.LEFT_ALONE))
                continue
            ids.add(table.content_id)
            try:
                tagged = tagging.tag(TableHolder(repository, table), records.get(table.content_id, {}))
            except (StoreError, SafetyError):
                raise
            except NessieGcError as error:
                tagged.say(failed(one_line(error), branch=self._branch, table=name))
        return tagged
