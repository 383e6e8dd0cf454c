"""What restore and purge share: which files are meant, in steps, each announced before anything is touched (S15)."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar, Self
from uuid import UUID

from nessie_gc_core.algorithms.hold import HELD_FILES, RELEASED, NotMoved, held_row
from nessie_gc_core.algorithms.read_ahead import in_pieces
from nessie_gc_core.algorithms.still_held import StillHeld
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import Service, SupportsQuarantine, SupportsSharedClock
from nessie_gc_core.dataset import BatchFunction, Dataset
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.quarantine import HeldFile, HeldState, Quarantine, bucket_of, bucket_of_tags
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.lease import Lease, hold_lease
from nessie_gc_core.services.live_set_ids import check_id, find_live_set
from nessie_gc_core.services.preconditions import check_executors
from nessie_gc_core.services.quarantine.by_table import FilesByTable
from nessie_gc_core.services.quarantine.outcomes import ReleasedFiles
from nessie_gc_core.services.quarantine.parameters import ReleaseParameters
from nessie_gc_core.services.quarantine.places import check_release, held_in
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.quarantine.twice import recorded_again
from nessie_gc_core.services.report import MAX_NAMES, NamedFile
from nessie_gc_core.services.run import Run

_SPREAD = ["place", "held_path"]
_Key = tuple[str, ...]
"""Place and path in quarantine of a file."""
Undo = Callable[[Sequence[HeldFile]], None]
Choose = Callable[[Sequence[HeldFile]], Sequence[HeldFile]]


def _nothing(files: Sequence[HeldFile]) -> None:
    """There is nothing to undo."""


class Release(Service[Run]):
    """Takes files out of quarantine, one way or the other."""

    verb: ClassVar[str]
    """What a report calls it, and the outcome of a file."""
    would: ClassVar[str]
    """The outcome of a file in a dry run."""
    taken: ClassVar[Collection[HeldState]]
    """The states that it begins with, or goes on from."""
    doing: ClassVar[HeldState]
    """The state of files that are being released."""
    blocked: ClassVar[HeldState]
    """The state of files that are being released in the other way."""
    parameters: ReleaseParameters

    def run(self, run: Run) -> ReleaseReport:
        """Releases the files that are meant.

        Raises:
            ConfigurationError: a parameter is invalid, or the store remembers no quarantine.
            LeaseHeldError: another process works on a repository that they are of.
        """
        report = ReleaseReport(verb=self.verb, dry_run=self.parameters.dry_run, by_table=self.by_table(run))
        run.choice.check_plugins(deletes=not self.parameters.dry_run)
        self.parameters.check()
        store, now = held_in(run.store), _certain_now(run)
        quarantines = list(store.quarantines())
        chosen = Chosen.by(self.parameters, quarantines, run)
        mine = [each for each in quarantines if chosen.live_set_id in (None, each.live_set_id)]
        repositories = sorted({each.repository for each in mine})
        steps = in_pieces(self._meant(store, chosen, repositories, now, report), self.parameters.files_per_step)
        choose = self.chooser(run, report)
        if self.parameters.dry_run:
            with self._outcomes(chosen.rules, run, report):
                for step in steps:
                    _show(choose(step), report)
        else:
            again, duration = "run the command again", self.parameters.lease
            with (
                hold_lease(
                    run.store, repositories, duration, elapsed=run.elapsed, go_on=run.go_on, then=again
                ) as lease,
                self._outcomes(chosen.rules, run, report) as outcomes,
            ):
                run.report.released = report.tallies()
                _check_workers({each.place for each in mine}, run)
                for step in steps:
                    lease.check()
                    outcomes.begin(step, self.doing)
                    free = choose(step)
                    lease.check()
                    self._step(free, store, run, report, outcomes, lease)
        if self.parameters.chooses and not report.found_any:
            report.warnings.append("nothing in quarantine matches")
        return report

    def _outcomes(self, rules: LocationRules, run: Run, report: ReleaseReport) -> ReleasedFiles:
        """The outcome file, which takes what the report counts; only under a lease nobody else writes to it."""
        dry_run = self.parameters.dry_run
        outcomes = ReleasedFiles(self.parameters.outcomes_to, rules=rules, clock=run.clock, alone=not dry_run)
        done = self.would if dry_run else self.verb
        report.named = lambda file, name, reason: outcomes.add(file, done if name == "done" else name, reason)
        return outcomes

    @abstractmethod
    def why_blocked(self, file: HeldFile) -> str:
        """Why a file stays that is being released in the other way."""

    def is_due(self, file: HeldFile, now: datetime) -> bool:
        """Whether a file may be released."""
        return True

    def chooser(self, run: Run, report: ReleaseReport) -> Choose:
        """What says which files of a step are released, and counts the others."""
        return lambda files: files

    def by_table(self, run: Run) -> FilesByTable | None:
        """What counts files by table; ``None``: nobody wants to know."""
        return None

    def before(self, files: Sequence[HeldFile], store: SupportsQuarantine, run: Run) -> Undo:
        """Does what must be done before files are touched; what it returns undoes that for files that stay."""
        return _nothing

    @abstractmethod
    def function(self, run: Run, still_held: StillHeld) -> BatchFunction:
        """What is done where the files are, batch by batch: :data:`HELD_FILES` to :data:`RELEASED`."""

    @abstractmethod
    def settle(self, file: HeldFile, status: str, reason: str | None, report: ReleaseReport) -> bool:
        """Counts a file; whether its record is done with."""

    def _meant(
        self,
        store: SupportsQuarantine,
        chosen: Chosen,
        repositories: Collection[str],
        now: datetime,
        report: ReleaseReport,
    ) -> Iterator[HeldFile]:
        """The files that are meant, and may be released now, of these repositories: nobody else works on theirs."""
        twice = recorded_again(store, chosen.rules)
        for file in store.held_files(chosen.live_set_id, (*self.taken, self.blocked)):
            if file.repository not in repositories or not chosen.means(file):
                continue
            if twice(file):
                if not self.parameters.dry_run:
                    store.forget_held_files([file])
            elif file.state is self.blocked:
                report.count(report.blocked, file, self.why_blocked(file))
            elif self.is_due(file, now):
                yield file
            else:
                report.count(report.waiting, file)

    def _step(
        self,
        files: Sequence[HeldFile],
        store: SupportsQuarantine,
        run: Run,
        report: ReleaseReport,
        outcomes: ReleasedFiles,
        lease: Lease,
    ) -> None:
        unmoved = _unmoved(files, run)
        announced = [file if _key(file) in unmoved else replace(file, state=self.doing) for file in files]
        store.put_held_files(file for file in announced if file.state is self.doing)
        undo = self.before(files, store, run)
        function = self.function(run, lease.still_held(run.engine))
        released = _rows(announced, run).flat_map(function).checkpoint()
        lease.check_held()  # else the records are somebody else's by now; they say what was being done
        by_key = {_key(file): file for file in files}
        names = [RELEASED.get_field_index(name) for name in ("place", "held_path", "status", "reason")]
        gone, staying = list[HeldFile](), list[HeldFile]()
        for batch in released.batches():
            for place, held_path, status, reason in zip(*(batch.column(at).to_pylist() for at in names), strict=True):
                file = by_key[place, held_path]
                if self.settle(file, status, reason, report):
                    gone.append(file)
                else:
                    moving = file.state is HeldState.MOVING  # it is not known whether the move was done
                    staying.append(file if moving else replace(file, state=HeldState.HELD))
        outcomes.sync()
        undo(staying)
        store.forget_held_files(gone)
        run.report.released = report.tallies()  # before this, the next run finds and counts them again
        store.put_held_files(staying)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Which files in quarantine are meant."""

    live_set_id: UUID | None
    tables: TablePatterns
    prefixes: tuple[str, ...]
    """Canonical locations."""
    pattern: re.Pattern[str] | None
    """Of whole former paths."""
    rules: LocationRules

    @classmethod
    def by(cls, parameters: ReleaseParameters, quarantines: Iterable[Quarantine], run: Run) -> Self:
        """Those that some parameters choose.

        Raises:
            ConfigurationError: one of them is invalid.
            LiveSetNotFoundError: the beginning of an id is that of no live set.
        """
        rules, id_ = run.choice.rules(), parameters.live_set_id
        return cls(
            live_set_id=None if id_ is None else _run_id(id_, quarantines, run),
            tables=parameters.tables,
            prefixes=parameters.prefixes(rules),
            pattern=parameters.pattern(),
            rules=rules,
        )

    def means(self, file: HeldFile) -> bool:
        """Whether a file is meant: all conditions must hold."""
        path = file.location + file.path
        if not self.tables.matches_any(list(filter(None, file.table.split("\n")))):
            return False
        if self.pattern is not None and not self.pattern.fullmatch(path):
            return False
        return not self.prefixes or self.rules.place(path).startswith(self.prefixes)


def _unmoved(files: Iterable[HeldFile], run: Run) -> Collection[_Key]:
    """Files that may never have been moved: a run that is killed while it releases them must not make that unknown.

    The records of all others say from then on what is done with them. Of a tagged file only its tag says whether that
    was done.
    """
    moving = [file for file in files if file.state is HeldState.MOVING]
    tagged = {_key(file) for file in moving if bucket_of_tags(file.place) is not None}
    others = [file for file in moving if _key(file) not in tagged]
    if not others:
        return tagged
    found = _rows(others, run).flat_map(NotMoved(run.choice)).checkpoint()
    return tagged.union(*(to_texts(batch, "place", "held_path") for batch in found.batches()))


def _rows(files: Iterable[HeldFile], run: Run) -> Dataset:
    """Files as rows (:data:`HELD_FILES`), distributed over the workers."""
    rows = run.engine.dataset(to_batches(map(held_row, files), HELD_FILES), HELD_FILES)
    return rows.spread(_SPREAD).checkpoint()


def _key(file: HeldFile) -> _Key:
    return file.place, file.held_path


def _show(files: Iterable[HeldFile], report: ReleaseReport) -> None:
    """Counts the files of a dry run, and names some."""
    for file in files:
        report.count(report.done, file)
        if len(report.files) < MAX_NAMES and not file.sidecar:
            report.files.append(NamedFile(file.location + file.path, None))


def _check_workers(places: Collection[str], run: Run) -> None:
    """Refuses workers that cannot run, connectors whose state does not reach them, and stores that refuse."""
    run.engine.check()
    with OpenConnectors(run.choice) as connectors:
        check_release(connectors, places)
        deleters = {type(connectors.deleter(bucket_of(place) or place)) for place in places}
    check_executors(run.engine, *deleters)


def _run_id(text: str, quarantines: Iterable[Quarantine], run: Run) -> UUID:
    """The id of a sweep, whose live set may be deleted by now, or the beginning of it."""
    whole = check_id(text, f"`live_set_id` {text[:60]!r}").replace("-", "").lower()
    found = {each.live_set_id for each in quarantines if each.live_set_id.hex.startswith(whole)}
    return found.pop() if len(found) == 1 else find_live_set(run.store, text)


def _certain_now(run: Run) -> datetime:
    """The earliest of what the clocks of this machine and of the live-set store show: no end comes too early."""
    times = [run.clock()]
    if isinstance(run.store, SupportsSharedClock) and (shared := run.store.shared_time()) is not None:
        times.append(shared)
    return min(times)
