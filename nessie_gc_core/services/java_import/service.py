"""The service that imports live sets and deferred deletions from the tables of Nessie's Java tool."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeVar

from nessie_gc_core.config.specs import JDBC
from nessie_gc_core.connectors import LiveSetStore, RepositoryConnector, Service, SupportsJavaTables
from nessie_gc_core.errors import ConfigurationError, LiveSetNotFoundError, ReferenceNotFoundError
from nessie_gc_core.model.closing import first_of
from nessie_gc_core.model.java_tables import JavaLiveSet
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus
from nessie_gc_core.model.options import ConnectorOptions, ConnectorSpec
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.services.added_versions import AddedVersions
from nessie_gc_core.services.java_import.parameters import ImportJavaParameters
from nessie_gc_core.services.java_import.report import ImportedLiveSet, ImportJavaReport
from nessie_gc_core.services.java_import.rows import DoubtError, deletion_of, location_of, version_of
from nessie_gc_core.services.java_import.wanted import WantedLiveSet, wanted_of, what_is_left
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.preconditions import check_one_repository
from nessie_gc_core.services.run import Run

R = TypeVar("R")
T = TypeVar("T")
_LOOKED_THROUGH = 10_000
"""Rows of a live set in whose order commits are looked for."""
_LOOKED_FOR = 20
"""Commits that are looked for at most; those of a live set are in its repository."""


@dataclass(frozen=True, slots=True)
class ImportJavaService(Service[Run]):
    """Import live sets and deferred deletions from the tables of Nessie's Java tool, which are only read.

    A live set keeps its id, and its age counts from the start of its mark. One that the Java tool did not complete
    without errors is imported as failed, and cannot be swept. A second import adds nothing.
    """

    name: ClassVar[str] = "import-java"
    Parameters: ClassVar[type[ConnectorOptions]] = ImportJavaParameters
    uses_files: ClassVar[bool] = False
    uses_engine: ClassVar[bool] = False

    parameters: ImportJavaParameters

    def run(self, run: Run) -> ImportJavaReport:
        """Imports.

        Raises:
            ConfigurationError: a parameter is invalid, or the store cannot read such tables.
            LeaseHeldError: another process collects the repository.
            StoreError: a table is missing, or a database cannot be used; what was imported before stays.
        """
        self.parameters.check()
        run.choice.check_plugins()
        check_one_repository(run)
        identity = run.repository.identity()
        report = ImportJavaReport(repository=identity, dry_run=self.parameters.dry_run)
        with self._source(run) as source:
            if not isinstance(source, SupportsJavaTables):
                raise ConfigurationError(f"the live-set store {source.name!r} cannot read tables of the Java tool")
            take = _Import(run.store, source, self.parameters, run.repository).take
            if self.parameters.dry_run:
                report.live_sets = list(map(take, self._chosen(source)))
                return report
            again, duration = "import again", self.parameters.lease
            with hold_lease(run.store, [identity], duration, elapsed=run.elapsed, go_on=run.go_on, then=again) as lease:
                for java in self._chosen(source):
                    lease.check()
                    report.live_sets.append(take(java))
        return report

    @contextmanager
    def _source(self, run: Run) -> Iterator[LiveSetStore]:
        """The store whose database has the tables."""
        if self.parameters.java_url is None:
            yield run.store
            return
        given = {"url": self.parameters.java_url, "user": self.parameters.java_user}
        given["password"] = self.parameters.java_password
        options = {name: value for name, value in given.items() if value is not None}
        spec = ConnectorSpec(kind="live-set-store", name=JDBC, options=options)
        with run.registry.open(LiveSetStore, spec) as store:
            yield store

    def _chosen(self, source: SupportsJavaTables) -> list[JavaLiveSet]:
        found = sorted(source.java_live_sets(), key=lambda each: each.live_set_id)
        wanted = self.parameters.java_live_set
        if wanted is None:
            return found
        found = [each for each in found if each.live_set_id == wanted.strip().lower()]
        if not found:
            raise ConfigurationError(f"`java_live_set` {wanted!r} is not in the tables of the Java tool")
        return found


class _Import:
    """Takes live sets from the tables into the store; a dry run only reads them."""

    def __init__(
        self,
        store: LiveSetStore,
        source: SupportsJavaTables,
        parameters: ImportJavaParameters,
        repository: RepositoryConnector,
    ) -> None:
        self._store, self._source, self._repository = store, source, repository
        self._identity = repository.identity()
        self._zone, self._parameters = parameters.zone(), parameters

    def take(self, java: JavaLiveSet) -> ImportedLiveSet:
        """Imports what is left to import of one."""
        result = ImportedLiveSet(live_set_id=java.live_set_id, java_status=java.status)
        try:
            wanted = wanted_of(java, self._zone)
            found = self._found(wanted)
            marks, sweeps = what_is_left(wanted, found, self._identity, self._store)
            if marks and wanted.failure is None:
                self._check_repository(java)
        except DoubtError as doubt:
            result.reason = str(doubt)
            return result
        result.new = marks or sweeps
        if found is not None:
            result.status, result.reason = found.status, found.error_message
        if marks:
            result.status, result.reason = self._mark(wanted, java, result, is_new=found is None)
        if sweeps and result.reason is None:
            result.status = self._sweep(wanted, java, result)
        return result

    def _check_repository(self, java: JavaLiveSet) -> None:
        """Makes sure that a live set is of this repository, which the tables do not say: its commits are there (S9).

        Raises:
            DoubtError: none of those that were looked for is.
        """
        rows = [*itertools.islice(self._source.java_content_versions(java.live_set_id), _LOOKED_THROUGH)]
        if not rows:
            raise DoubtError("it has no contents, so that nothing shows of which repository it is")
        commits = dict.fromkeys(row.commit_id for row in rows if row.commit_id)
        if commits and not any(map(self._has_commit, itertools.islice(commits, _LOOKED_FOR))):
            raise DoubtError(
                f"none of its commits is in {self._repository.address()}; is it of another repository? Give the "
                "address of the one that it was marked from"
            )

    def _has_commit(self, commit_id: str) -> bool:
        try:
            reference = Reference(name=commit_id, kind=ReferenceKind.BRANCH, commit_id=commit_id)
            return first_of(self._repository.commit_log(reference)) is not None
        except ReferenceNotFoundError:
            return False

    def _found(self, wanted: WantedLiveSet) -> LiveSet | None:
        try:
            return self._store.get(wanted.id)
        except LiveSetNotFoundError:
            return None

    def _mark(
        self, wanted: WantedLiveSet, java: JavaLiveSet, result: ImportedLiveSet, *, is_new: bool
    ) -> tuple[LiveSetStatus, str | None]:
        """Imports what the mark found; one doubt about any row is one about the live set (S17)."""
        doubts: list[str] = []
        kept = AddedVersions(self._store, wanted.id)
        if is_new and not self._parameters.dry_run:
            self._store.start_identify(wanted.id, repository=self._identity, created=wanted.created)
        if wanted.failure is None:
            versions = _usable(self._source.java_content_versions(java.live_set_id), version_of, _first(doubts))
            result.content_versions = self._put(versions, kept.add_all)
            locations = _usable(self._source.java_base_locations(java.live_set_id), location_of, _first(doubts))
            result.base_locations = self._put(locations, partial(self._store.add_base_locations, wanted.id))
        failure = wanted.failure or next(iter(doubts), None)
        if not self._parameters.dry_run:
            digest = kept.digest(self._store.count_content_versions(wanted.id)[0]) if failure is None else None
            self._store.finish_identify(wanted.id, at=wanted.completed, failure=failure, versions=digest)
        return LiveSetStatus.IDENTIFY_SUCCESS if failure is None else LiveSetStatus.IDENTIFY_FAILED, failure

    def _sweep(self, wanted: WantedLiveSet, java: JavaLiveSet, result: ImportedLiveSet) -> LiveSetStatus:
        """Imports the deferred deletions that can be used; they are checked again when they are run (S9)."""
        assert wanted.swept is not None
        (started, ended), dry_run = wanted.swept, self._parameters.dry_run
        if not dry_run:
            self._store.start_expire(wanted.id, at=started, resume=True)
        judge = partial(deletion_of, before=wanted.created - self._parameters.min_deferred_age)
        left_out: Counter[str] = result.left_out
        rows = _usable(self._source.java_file_deletions(java.live_set_id), judge, lambda why: left_out.update([why]))
        result.file_deletions = self._put(rows, partial(self._store.add_file_deletions, wanted.id))
        if not dry_run:
            digest = RowsDigest.of(each.values for each in self._store.file_deletions(wanted.id))
            self._store.finish_expire(wanted.id, at=ended, deletions=digest)
        return LiveSetStatus.EXPIRY_SUCCESS

    def _put(self, rows: Iterator[R], put: Callable[[Iterable[R]], object]) -> int:
        """Stores rows as they come, or only counts them; returns how many there were."""
        count = 0

        def counted() -> Iterator[R]:
            nonlocal count
            for row in rows:
                count += 1
                yield row

        if self._parameters.dry_run:
            for _ in counted():
                pass
        else:
            put(counted())
        return count


def _usable(rows: Iterable[T], judge: Callable[[T], R], on_doubt: Callable[[str], object]) -> Iterator[R]:
    """The rows that are not in doubt, as ours."""
    for row in rows:
        try:
            yield judge(row)
        except DoubtError as doubt:
            on_doubt(str(doubt))


def _first(doubts: list[str]) -> Callable[[str], object]:
    """Keeps the first doubt only; there may be millions."""

    def keep(why: str) -> None:
        if not doubts:
            doubts.append(why)

    return keep
