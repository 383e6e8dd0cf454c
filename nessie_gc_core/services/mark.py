"""The mark service: makes a live set of a repository, or of each of several."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar

from nessie_gc_core.algorithms.mark import BatchingContents, mark
from nessie_gc_core.algorithms.storable import failure_text
from nessie_gc_core.algorithms.suspicion import checked_references
from nessie_gc_core.connectors import RepositoryConnector, Service, VisitedDeduplicator
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.closing import only_warned
from nessie_gc_core.model.live_sets import marked_with
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.policies import SWEPT_ONLY_BY, ReferencePolicies
from nessie_gc_core.model.text import one_line, time_text
from nessie_gc_core.services.added_versions import AddedVersions
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.hints import unmatched_patterns
from nessie_gc_core.services.live_set_ids import write_id
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.members import READ_ERRORS, identified, newest
from nessie_gc_core.services.records import left_behind
from nessie_gc_core.services.report import GcReport, MarkedRepository
from nessie_gc_core.services.run import Run

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MarkService(Service[Run]):
    """Find out what is live: walk all references and store a live set.

    The report names the live set, which 'sweep' needs.
    """

    name: ClassVar[str] = "mark"
    aliases: ClassVar[tuple[str, ...]] = ("mark-live", "identify")
    Parameters: ClassVar[type[ConnectorOptions]] = MarkParameters
    uses_files: ClassVar[bool] = False

    parameters: MarkParameters
    swept_only_by: str | None = None
    """Name of the service that alone may sweep the live set; ``None``: any may."""

    def run(self, run: Run) -> GcReport:
        """Marks; the report names the live set, which is then IDENTIFY_SUCCESS.

        Of several repositories each has a live set of its own. One that cannot be read does not stop the others: what
        it ever had is left alone by the sweep.

        Raises:
            NessieGcError: a reference could not be read; the live set is then IDENTIFY_FAILED.
        """
        run.choice.check_plugins()
        self.parameters.check(run.choice)
        report, created = run.report, run.clock()
        policies = self.parameters.policies(created)
        # Only now, when all options are known to be right: the file may hold an id that somebody needs.
        write_id(self.parameters.write_live_set_id_to, None)
        report.started = report.started or created
        sweeper = () if self.swept_only_by is None else (SWEPT_ONLY_BY + self.swept_only_by,)
        names = _Marking(self.parameters, policies, created, run, sweeper=sweeper).run()
        if not any(each.unread for each in report.repositories):
            for warning in unmatched_patterns(policies, names):
                report.warn(warning)
        report.finished = run.clock()
        write_id(self.parameters.write_live_set_id_to, uuid.UUID(report.live_set_id))
        return report


class _Marking:
    """One mark of all repositories of a run."""

    def __init__(
        self,
        parameters: MarkParameters,
        policies: ReferencePolicies,
        created: datetime,
        run: Run,
        *,
        sweeper: Collection[str] = (),
    ) -> None:
        self._parameters, self._policies, self._created, self._run = parameters, policies, created, run
        self._texts = (*policies.to_texts(), *sweeper)
        self._names: list[str] = []
        self._failed: dict[str, uuid.UUID] = {}
        """By identity the live sets of repositories that cannot be read."""

    def run(self) -> Collection[str]:
        """Marks them, each in a live set of its own; returns the names of all references.

        Raises:
            NessieGcError: the only repository, or each of them, cannot be read, or nothing is known of one that cannot.
        """
        run, report = self._run, self._run.report
        repositories = identified(run)
        listed = min(times_now(run))
        report.repositories, first = [], None
        for number, (identity, repository) in enumerate(repositories.items(), 1):
            id_ = uuid.uuid4() if first is None else marked_with(first, identity)
            named = MarkedRepository(repository=identity, address=repository.address(), live_set_id=str(id_))
            report.repositories.append(named)
            report.live_set_id = str(first or id_)
            try:
                self._mark(id_, identity, repository, listed)
            except READ_ERRORS as error:
                is_only = number == len(repositories) or run.resources.chosen
                if first is None and is_only:
                    raise
                report.repositories[-1] = self._passed_over(named, error)
                continue
            if first is None:
                first = id_
                self._name_after(first)
        return self._names

    def _name_after(self, first: uuid.UUID) -> None:
        """Puts the failures of repositories that came before the first readable one under ids that follow from its."""
        store, report = self._run.store, self._run.report
        for named in report.repositories[:-1]:
            id_ = marked_with(first, named.repository)
            store.start_identify(id_, repository=named.repository, created=self._created)
            store.finish_identify(id_, at=self._run.clock(), failure=named.unread)
            store.delete(self._failed[named.repository])

    def _passed_over(self, named: MarkedRepository, error: NessieGcError) -> MarkedRepository:
        """A repository that cannot be read, as the report names it.

        Raises:
            SafetyError: nothing is known of it.
        """
        self._failed[named.repository] = uuid.UUID(named.live_set_id)
        known, reason = newest(self._run, named.repository), one_line(error)
        self._run.report.unreadable[named.address] = reason
        self._run.report.warn(
            f"{named.address} cannot be read, so nothing that it had up to {time_text(known.created)} is deleted"
        )
        return replace(named, live_set_id=str(known.id), unread=reason)

    def _mark(self, id_: uuid.UUID, identity: str, repository: RepositoryConnector, listed: datetime) -> None:
        """Marks one repository; its live set says how that ended."""
        run, store = self._run, self._run.store
        store.start_identify(id_, repository=identity, created=self._created, policies=self._texts)
        try:
            warning = left_behind(repository, identity, store)
            if warning is not None:
                run.report.warn(warning)
            with run.report.phase("mark"):
                self._walk(id_, repository, listed)
        except BaseException as error:
            with only_warned(f"the store does not know that the mark of live set {id_} failed"):
                store.finish_identify(id_, at=run.clock(), failure=failure_text(error))
            raise

    def _walk(self, id_: uuid.UUID, repository: RepositoryConnector, listed: datetime) -> None:
        run, report, store = self._run, self._run.report, self._run.store
        references = list(checked_references(repository))
        kept = AddedVersions(store, id_)
        batches = BatchingContents(kept.add)
        with run.choice.open(VisitedDeduplicator, self._parameters.visited) as deduplicator:
            result = mark(
                repository,
                self._policies,
                deduplicator,
                batches,
                references=references,
                parallelism=self._parameters.identify_parallelism,
                progress=lambda done: run.tell("mark", done, len(references)),
            )
        batches.flush()
        versions, contents = store.count_content_versions(id_)
        digest = kept.digest(versions)
        store.finish_identify(id_, at=run.clock(), references_listed=listed, heads=result.heads, versions=digest)
        self._names.extend(reference.name for reference in references)
        report.references += len(references)
        report.commits += result.commits
        report.content_versions += versions
        report.contents += contents
        log.info(
            "live set %s: %d references, %d live commits, %d versions of %d contents",
            id_,
            len(references),
            result.commits,
            versions,
            contents,
        )
