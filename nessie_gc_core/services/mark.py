"""The mark service: makes a live set of a repository."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass

from nessie_gc_core.algorithms.mark import BatchingContents, mark
from nessie_gc_core.algorithms.storable import failure_text
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector, VisitedDeduplicator
from nessie_gc_core.model.times import Clock
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.hints import unmatched_patterns
from nessie_gc_core.services.records import left_behind
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.settings import MarkSettings, Progress, no_progress

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkService:
    """Walks all references by their policies and stores what is live."""

    repository: RepositoryConnector
    store: LiveSetStore
    settings: MarkSettings
    clock: Clock
    progress: Progress = no_progress

    def run(self, report: GcReport) -> uuid.UUID:
        """Marks, and fills in its part of the report.

        Returns:
            The id of the live set, in IDENTIFY_SUCCESS.

        Raises:
            NessieGcError: a reference could not be read; the live set is then IDENTIFY_FAILED.
        """
        self.settings.choice.check_plugins()
        id_ = uuid.uuid4()
        report.repository, report.live_set_id = self.repository.identity(), str(id_)
        report.address = self.repository.address()
        warning = left_behind(self.repository, report.repository, self.store)
        if warning is not None:
            report.warn(warning)
        created = self.clock()
        report.started = report.started or created
        texts = self.settings.policies.to_texts()
        self.store.start_identify(id_, repository=report.repository, created=created, policies=texts)
        try:
            with report.phase("mark"):
                self._mark(id_, report)
        except BaseException as error:
            self.store.finish_identify(id_, at=self.clock(), failure=failure_text(error))
            raise
        report.finished = self.clock()
        return id_

    def _mark(self, id_: uuid.UUID, report: GcReport) -> None:
        listed = min(times_now(self.repository, self.store, self.clock, report))
        references = list(self.repository.references())
        report.references = len(references)
        for warning in unmatched_patterns(self.settings.policies, [reference.name for reference in references]):
            report.warn(warning)
        batches = BatchingContents(lambda versions: _ignore(self.store.add_content_versions(id_, versions)))
        with self.settings.choice.registry().open(VisitedDeduplicator, self.settings.deduplicator) as deduplicator:
            result = mark(
                self.repository,
                self.settings.policies,
                deduplicator,
                batches,
                references=references,
                parallelism=self.settings.parallelism,
                progress=lambda done: self.progress("mark", done, len(references)),
            )
        batches.flush()
        report.commits = result.commits
        report.content_versions, report.contents = self.store.count_content_versions(id_)
        self.store.finish_identify(id_, at=self.clock(), references_listed=listed, heads=result.heads)
        log.info(
            "live set %s: %d references, %d live commits, %d versions of %d contents",
            id_,
            report.references,
            report.commits,
            report.content_versions,
            report.contents,
        )


def _ignore(added: int) -> None:
    """Takes the number of new rows, which the store counts again at the end."""
