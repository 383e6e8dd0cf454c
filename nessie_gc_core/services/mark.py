"""The mark service: makes a live set of a repository."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from typing import ClassVar

from nessie_gc_core.algorithms.mark import BatchingContents, mark
from nessie_gc_core.algorithms.storable import failure_text
from nessie_gc_core.connectors import Service, VisitedDeduplicator
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.services.clocks import times_now
from nessie_gc_core.services.hints import unmatched_patterns
from nessie_gc_core.services.live_set_ids import write_id
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.records import left_behind
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MarkService(Service[Run]):
    """Find out what is live: walk all references and store a live set.

    Its report names the live set, which a sweep takes.
    """

    name: ClassVar[str] = "mark"
    aliases: ClassVar[tuple[str, ...]] = ("mark-live", "identify")
    Parameters: ClassVar[type[ConnectorOptions]] = MarkParameters
    uses_files: ClassVar[bool] = False

    parameters: MarkParameters

    def run(self, run: Run) -> GcReport:
        """Marks; the report names the live set, which is then IDENTIFY_SUCCESS.

        Raises:
            NessieGcError: a reference could not be read; the live set is then IDENTIFY_FAILED.
        """
        run.choice.check_plugins()
        self.parameters.check(run.choice)
        report, created = run.report, run.clock()
        policies = self.parameters.policies(created)
        id_, repository, store = uuid.uuid4(), run.repository, run.store
        # Only now, when all options are known to be right: the file may hold an id that somebody needs.
        write_id(self.parameters.write_live_set_id_to, None)
        report.repository, report.live_set_id = repository.identity(), str(id_)
        report.address = repository.address()
        warning = left_behind(repository, report.repository, store)
        if warning is not None:
            report.warn(warning)
        report.started = report.started or created
        store.start_identify(id_, repository=report.repository, created=created, policies=policies.to_texts())
        try:
            with report.phase("mark"):
                self._mark(id_, policies, run)
        except BaseException as error:
            store.finish_identify(id_, at=run.clock(), failure=failure_text(error))
            raise
        report.finished = run.clock()
        write_id(self.parameters.write_live_set_id_to, id_)
        return report

    def _mark(self, id_: uuid.UUID, policies: ReferencePolicies, run: Run) -> None:
        report, store = run.report, run.store
        listed = min(times_now(run))
        references = list(run.repository.references())
        report.references = len(references)
        for warning in unmatched_patterns(policies, [reference.name for reference in references]):
            report.warn(warning)
        batches = BatchingContents(lambda versions: _ignore(store.add_content_versions(id_, versions)))
        with run.choice.open(VisitedDeduplicator, self.parameters.visited) as deduplicator:
            result = mark(
                run.repository,
                policies,
                deduplicator,
                batches,
                references=references,
                parallelism=self.parameters.identify_parallelism,
                progress=lambda done: run.tell("mark", done, len(references)),
            )
        batches.flush()
        report.commits = result.commits
        report.content_versions, report.contents = store.count_content_versions(id_)
        store.finish_identify(id_, at=run.clock(), references_listed=listed, heads=result.heads)
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
