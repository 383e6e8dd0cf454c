"""The service that makes tags by time, and deletes those that no policy keeps any more."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from nessie_gc_core.connectors import Service, SupportsTableTags, SupportsTags
from nessie_gc_core.errors import ConfigurationError, UnreadableFileError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.table_metadata import MAIN
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.autotag.holders import Holder, RepositoryHolder, TableHolder
from nessie_gc_core.services.autotag.one_holder import HolderTagging, Tagged, failed
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.recording import Recording
from nessie_gc_core.services.autotag.report import AutotagReport, TagResult
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.preconditions import TOLERANCE, check_one_repository
from nessie_gc_core.services.run import Run

_LEASE = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class AutotagService(Service[Run]):
    """Make tags by time, and delete those that no policy keeps any more.

    By default there are tags for the last 25 hours, 8 days, 6 weeks, 13 months and 3 years, such as
    'date/2019_09_07_15_50'. Each shows the state at its roll-over, also where this runs later. Only tags that it made
    itself are deleted; the live-set store remembers which. In Nessie they are tags of the repository, in a plain
    catalog Iceberg's tags of each table.
    """

    name: ClassVar[str] = "autotag"
    Parameters: ClassVar[type[ConnectorOptions]] = AutotagParameters
    uses_engine: ClassVar[bool] = False

    parameters: AutotagParameters
    only: Collection[tuple[str, str]] | None = None
    """Holder and name of the tags that may be touched; ``None``: all that the policies ask for."""

    def run(self, run: Run) -> AutotagReport:
        """Makes and deletes.

        Raises:
            ConfigurationError: a parameter makes no sense, the branch is not there, or repository or store have no
                tags.
            LeaseHeldError: another process does the same right now.
            NessieGcError: the repository or the store cannot be read.
        """
        started, parameters = run.elapsed(), self.parameters
        _ = parameters.policies, parameters.patterns
        check_one_repository(run)
        run.choice.check_plugins()
        at = self._at(run)
        recording = Recording(run.store, run.repository)
        warning = recording.left_behind()
        found, tables = Tagged(), 0
        with self._lease(run, recording.identity) as lease:
            records = recording.by_holder()
            tagging = HolderTagging(run, parameters, recording, at=at, lease=lease, only=self.only)
            for holder in self._holders(run, records):
                tables += holder.table is not None
                if isinstance(holder, TagResult):
                    found.tags.append(holder)
                    continue
                tagged = tagging.tag(holder, records.get(holder.id, {}))
                found.tags.extend(tagged.tags)
                found.kept += tagged.kept
                run.tell("tags", len(found.tags), None)
        return AutotagReport(
            repository=run.repository.address(),
            at=at,
            dry_run=parameters.dry_run,
            tags=found.tags,
            kept=found.kept,
            tables=tables,
            warnings=(*run.report.warnings, *(() if warning is None else (warning,))),
            seconds=run.elapsed() - started,
        )

    def _at(self, run: Run) -> datetime:
        """The time that is taken for now: by the clock that shows the least (S8), unless one is given."""
        now, given = times_now(run), self.parameters.at
        if given is None:
            return min(now)
        if given > min(now) + TOLERANCE and not self.parameters.dry_run:
            raise ConfigurationError(
                f"`at` {given.isoformat()} is still to come: tags would be made of states that nobody knows yet; look "
                "ahead with `dry_run`"
            )
        return given

    def _lease(self, run: Run, identity: str) -> AbstractContextManager[Lease | None]:
        """One process at a time makes tags; collectors have a lease of their own. A dry run needs none."""
        if self.parameters.dry_run:
            return nullcontext()
        return hold_lease(run.store, [f"tags of {identity}"], _LEASE, elapsed=run.elapsed)

    def _holders(self, run: Run, records: Mapping[str, Mapping[str, TagRecord]]) -> Iterator[Holder | TagResult]:
        """The repository, or each table of it that is meant, and what is said of a table that cannot be read.

        Raises:
            ConfigurationError: it takes no tags, or the branch that is asked for is nowhere.
        """
        repository = run.repository
        if isinstance(repository, SupportsTags):
            if self.parameters.include or self.parameters.exclude:
                raise ConfigurationError("`include` and `exclude` choose tables, and here tags are of all of them")
            holder = RepositoryHolder(repository, repository)
            self._check_branch(run, holder, records.get("", {}))
            yield holder
        elif isinstance(repository, SupportsTableTags):
            yield from self._tables(run, repository)
        else:
            raise ConfigurationError(f"the repository connector {repository.name!r} makes no tags")

    def _check_branch(self, run: Run, holder: Holder, records: Mapping[str, TagRecord]) -> None:
        """The branch that is tagged has to be there, unless it was there once.

        Raises:
            ConfigurationError: it is not, and never was.
        """
        chosen = self.parameters.branch or holder.default
        is_meant = self.parameters.branch is not None or any(each.branch is None for each in self.parameters.policies)
        if chosen in holder.branches or not is_meant:
            return
        if not any(record.branch == chosen for record in records.values()):
            raise ConfigurationError(f"`branch`: there is no branch {chosen!r}")
        run.report.warn(f"the branch {chosen!r} is gone; its tags stay as long as their policies keep them")

    def _tables(self, run: Run, repository: SupportsTableTags) -> Iterator[TableHolder | TagResult]:
        patterns, branch, is_there = self.parameters.patterns, self.parameters.branch, False
        for reference in run.repository.references():
            if not patterns.matches(reference.name):
                continue
            try:
                tables = list(repository.tables(reference))
            except UnreadableFileError as error:
                yield failed(one_line(error), branch=branch or MAIN, table=reference.name)
                continue
            for table in tables:
                holder = TableHolder(repository, table)
                is_there = is_there or branch is None or branch in holder.branches
                yield holder
        if not is_there and branch is not None:
            raise ConfigurationError(f"`branch`: no table has a branch {branch!r}")
