"""The report of a run: what was found, the outcome of it, and how long each phase took."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nessie_gc_core.errors import IncompleteError
from nessie_gc_core.model.text import json_time, plural
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.model.without_pandas import check_pandas
from nessie_gc_core.model.work import Traffic
from nessie_gc_core.services.known_unknowns import UNKNOWN, UNREADABLE, KnownUnknowns, Thing, thing_of
from nessie_gc_core.services.report_html import report_html
from nessie_gc_core.services.tally import TableTally, Tally, total

if TYPE_CHECKING:
    import pandas as pd

_COUNTED = ("unknown", "unreadable", "unread", "refused", "left_out", "dropped", "set_aside")
_NOTE = "Nessie GC: in the phase "
MAX_NAMES = 100
"""Names in one list of a report; the outcome file has them all."""


def phase_of(error: BaseException) -> str | None:
    """The phase that an error ended, or an error that led to it; ``None``: none, or nobody knows."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        for note in getattr(found, "__notes__", ()):
            if str(note).startswith(_NOTE):
                return str(note).removeprefix(_NOTE)
        found = found.__cause__ or found.__context__
    return None


@dataclass(slots=True)
class NamedFile:
    """A file with a reason, as a report lists it."""

    path: str
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRepository:
    """A repository of which a report is, and its live set."""

    repository: str
    """Its identity."""
    address: str
    """Where it is, for people; never compared."""
    live_set_id: str | None = None
    """The live set that was marked or swept; of one that could not be read the newest there is."""
    unread: str | None = None
    """Why it could not be read: all that it ever had was left alone (S6)."""

    def to_dict(self) -> dict[str, str | None]:
        """As JSON shows it."""
        return {name: getattr(self, name) for name in ("repository", "address", "live_set_id", "unread")}


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlan:
    """A plan that a dry run wrote to a file."""

    path: str
    """The file."""
    files: int
    """Planned files, without checksum sidecars."""
    bytes: int
    """Their bytes."""
    sha256: str
    """The digest of the plan, in hexadecimal digits."""


@dataclass(slots=True)
class GcReport:
    """What a mark, a sweep, or both did. ``unreferenced`` is the sum of all outcomes."""

    repositories: list[MarkedRepository] = field(default_factory=list)
    """The repository, or all that were marked or swept together."""
    live_set_id: str | None = None
    """The live set; of several that were marked together the one that names them all."""
    engine: str | None = None
    dry_run: bool = False
    only_looks: bool = False
    """Whether it is of a service that never deletes a file, so that a dry run of it would be something else."""
    started: datetime | None = None
    finished: datetime | None = None
    phases: dict[str, float] = field(default_factory=dict)
    """Seconds per phase; expand and list run at the same time."""
    references: int = 0
    commits: int = 0
    """Live commits, each counted once."""
    contents: int = 0
    content_versions: int = 0
    files_expanded: int = 0
    """Metadata files, manifest lists and manifests that were read, each counted once."""
    files_cached: int = 0
    """Manifests that were not read again, because an expansion cache knows what they name."""
    files_listed: Tally = field(default_factory=Tally)
    traffic: Traffic | None = None
    """What was asked of the stores of files: ``requests``, ``bytes_read``, ``waited_seconds`` (summed over requests).

    Of all runs that share the process at the same time. ``None`` of a mark, which asks none, and where the engine
    cannot tell (Spark Connect).
    """
    left_alone: int = 0
    """Names in the listings that are not our files, such as links to folders."""
    locations: int = 0
    """Sweep units that were listed."""
    outcomes: dict[Outcome, Tally] = field(default_factory=lambda: {outcome: Tally() for outcome in Outcome})
    sidecars: Tally = field(default_factory=Tally)
    """Checksum sidecars that were deleted (or would be) with their files; no other figure includes them."""
    noncurrent_versions: Tally = field(default_factory=Tally)
    """Noncurrent versions that this run deleted with their files, in no other figure."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Locations that were left alone, each with the reason (S6)."""
    unreadable: dict[str, str] = field(default_factory=dict)
    """Files that decide what is live and could not be read, each with the reason (S6)."""
    unread: dict[str, str] = field(default_factory=dict)
    """Locations of contents that no installed plugin reads, or that other formats use too; nothing goes (S23, S32)."""
    refused: dict[str, str] = field(default_factory=dict)
    """Locations that the configuration keeps from being swept, each with the reason (S13)."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Locations that ``include`` and ``exclude`` leave out, each with the reason."""
    set_aside: dict[str, str] = field(default_factory=dict)
    """Names of contents that ``set_aside`` sets aside, each with where its files stay (S31)."""
    dropped: dict[str, str] = field(default_factory=dict)
    """Locations of contents that are gone, which were swept on their own, each with what was there (S20)."""
    files_in: dict[str, int] = field(default_factory=dict, repr=False)
    """How many files were listed in each location."""
    outcomes_in: dict[str, dict[Outcome, Tally]] = field(default_factory=dict, repr=False)
    """The outcomes in each location."""
    tables: list[TableTally] | None = None
    """The same table by table, with ``by_table``; else ``None``."""
    lost: Tally = field(default_factory=Tally)
    """Reachable files that are not stored; their bytes are not known."""
    lost_files: list[NamedFile] = field(default_factory=list)
    may_be_lost: Tally = field(default_factory=Tally)
    """Spared files with the name of a reachable file that was found nowhere (S30); their bytes are not known."""
    may_be_lost_files: list[NamedFile] = field(default_factory=list)
    """The first of them."""
    in_quarantine: Tally = field(default_factory=Tally)
    """Files that live states need and that are in quarantine; their bytes are not counted (S29)."""
    in_quarantine_files: list[NamedFile] = field(default_factory=list)
    """The first of them."""
    failed_files: list[NamedFile] = field(default_factory=list)
    spared_files: list[NamedFile] = field(default_factory=list)
    tolerated_missing: int = 0
    """Missing metadata files of older versions that an earlier run deleted."""
    references_moved: int = 0
    """References that were new or had moved at a re-check (S9)."""
    warnings: list[str] = field(default_factory=list)
    known: KnownUnknowns | None = None
    """What the run before could not read, with ``known_unknowns``; else ``None``."""
    plan: WrittenPlan | None = None
    """The plan that was written, with ``plan``; else ``None``."""
    released: Mapping[str, Tally] | None = field(default=None, repr=False)
    """What a restore or purge has done in the steps that it finished, in no other figure; ``None``: it is another run.

    It has a report of its own, so only what is said of a run that fails shows this.
    """

    def begin(self, repositories: Iterable[MarkedRepository], engine: str, at: datetime) -> None:
        """Says what a sweep is of, where it runs, and when the first of its phases began."""
        self.repositories = list(repositories)
        self.live_set_id = self.repositories[0].live_set_id
        self.engine, self.started = engine, self.started or at

    @property
    def repository(self) -> str:
        """The identity of the repository; of several all of them."""
        return ", ".join(each.repository for each in self.repositories)

    @property
    def address(self) -> str:
        """Where the repository is, or all of them, for people; never compared."""
        return ", ".join(each.address for each in self.repositories)

    @property
    def unreferenced(self) -> Tally:
        """The sum of all outcomes."""
        return total(self.outcomes.values())

    @property
    def exit_code(self) -> int:
        """1 if a deletion failed, something stayed unknown, or a needed file could not be read or is in quarantine.

        What was known before does not count, if that was asked for.
        """
        return 1 if self.outcomes[Outcome.FAILED].files or self.news or self.in_quarantine.files else 0

    @property
    def not_known(self) -> dict[Thing, tuple[str, str]]:
        """What stayed unknown or could not be read, each with an example of its name and the reason."""
        lists = {UNKNOWN: self.unknown, UNREADABLE: self.unreadable}
        return {thing_of(name, *named): named for name, reasons in lists.items() for named in reasons.items()}

    @property
    def news(self) -> list[tuple[str, str]]:
        """Names and reasons of that, without what was known before."""
        known = frozenset() if self.known is None else self.known.things
        return [named for thing, named in self.not_known.items() if thing not in known]

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Adds the time that the block takes to a phase; an error that ends it says so in a note."""
        begin = time.perf_counter()
        try:
            yield
        except BaseException as error:
            if phase_of(error) is None:
                error.add_note(f"{_NOTE}{name}")
            raise
        finally:
            self.phases[name] = self.phases.get(name, 0.0) + time.perf_counter() - begin

    def add_outcome(self, unit: str, outcome: Outcome, files: int, bytes_: int) -> None:
        """Counts files of a location that had the same outcome."""
        self.outcomes[outcome].add(files, bytes_)
        if files:
            self.outcomes_in.setdefault(unit, {}).setdefault(outcome, Tally()).add(files, bytes_)

    def warn(self, text: str) -> None:
        """Adds a warning, once."""
        if text not in self.warnings and len(self.warnings) < MAX_NAMES:
            self.warnings.append(text)

    @property
    def worst_unknown(self) -> list[tuple[str, str]]:
        """The unknown locations with their reasons, those with the most files first."""
        return sorted(self.unknown.items(), key=lambda named: -self.files_in.get(named[0], 0))

    def to_dict(self) -> dict[str, Any]:
        """The report as the one JSON object of ``--json``."""
        return {
            "repository": self.repository,
            "address": self.address,
            "repositories": [each.to_dict() for each in self.repositories],
            "live_set_id": self.live_set_id,
            "engine": self.engine,
            "dry_run": self.dry_run,
            "started": json_time(self.started),
            "finished": json_time(self.finished),
            "phases": {name: round(seconds, 3) for name, seconds in self.phases.items()},
            "references": self.references,
            "commits": self.commits,
            "contents": self.contents,
            "content_versions": self.content_versions,
            "files_expanded": self.files_expanded,
            "files_cached": self.files_cached,
            "files_listed": self.files_listed.to_dict(),
            "traffic": None if self.traffic is None else self.traffic.to_dict(),
            "left_alone": self.left_alone,
            "locations": self.locations,
            "unreferenced": self.unreferenced.to_dict(),
            **{outcome.value: tally.to_dict() for outcome, tally in self.outcomes.items()},
            "sidecars": self.sidecars.to_dict(),
            "noncurrent_versions": self.noncurrent_versions.to_dict(),
            "unknown": self._telling_known(UNKNOWN, _named(self.worst_unknown)),
            "unreadable": self._telling_known(UNREADABLE, _named(self.unreadable.items(), "path"), "path"),
            "known_unknowns": self._known_unknowns(),
            "unread": _named(self.unread.items()),
            "refused": _named(self.refused.items()),
            "left_out": _named(self.left_out.items()),
            "dropped": _named(self.dropped.items()),
            "set_aside": _named(self.set_aside.items(), "content"),
            "counts": {name: len(getattr(self, name)) for name in _COUNTED},
            "tables": None if self.tables is None else [table.to_dict() for table in self.tables],
            "lost": {"files": self.lost.files, "names": [_file(f) for f in self.lost_files]},
            "may_be_lost": {"files": self.may_be_lost.files, "names": [_file(f) for f in self.may_be_lost_files]},
            "in_quarantine": {
                "files": self.in_quarantine.files,
                "names": [_file(f) for f in self.in_quarantine_files],
            },
            "failed_files": [_file(f) for f in self.failed_files],
            "spared_files": [_file(f) for f in self.spared_files],
            "tolerated_missing": self.tolerated_missing,
            "references_moved": self.references_moved,
            "plan": None if self.plan is None else asdict(self.plan),
            "warnings": self.warnings,
            "exit_code": self.exit_code,
        }

    def _telling_known(
        self, list_: str, named: list[dict[str, str]], kind: str = "location"
    ) -> Sequence[Mapping[str, str | bool]]:
        """The same, each with whether it was known before, if that was asked for."""
        if self.known is None:
            return named
        known = self.known.things
        return [{**each, "known": thing_of(list_, each[kind], each["reason"]) in known} for each in named]

    def _known_unknowns(self) -> dict[str, str | int] | None:
        if self.known is None:
            return None
        new = len(self.news)
        return {"file": self.known.file, "known": len(self.not_known) - new, "new": new}

    def __str__(self) -> str:
        """One line."""
        found = (f"{name.value.replace('_', ' ')}: {tally}" for name, tally in self.outcomes.items() if tally.files)
        said = "; ".join([*found, *(plural(len(self.unknown), "unknown location") for _ in [1] if self.unknown)])
        return f"live set {self.live_set_id} of {self.address or self.repository}: {said or 'no garbage'}"

    def raise_for_status(self) -> None:
        """Does nothing where everything that should be done is done.

        Raises:
            IncompleteError: a deletion failed, something stayed unknown, or a needed file could not be read or is in
                quarantine.
        """
        if not self.exit_code:
            return
        failed = self.outcomes[Outcome.FAILED].files
        found = {
            f"{plural(failed, 'file')} could not be deleted": failed,
            plural(len(self.unknown), "unknown location"): len(self.unknown),
            f"{plural(len(self.unreadable), 'file')} could not be read": len(self.unreadable),
            f"{plural(self.in_quarantine.files, 'needed file')} in quarantine": self.in_quarantine.files,
        }
        said = ", ".join(text for text, count in found.items() if count)
        raise IncompleteError(f"live set {self.live_set_id}: {said}; see the report, and run again")

    def to_pandas(self) -> pd.DataFrame:
        """One row per outcome: ``outcome``, ``files``, ``bytes``.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        check_pandas()
        import pandas as pd

        rows = [{"outcome": outcome.value, **tally.to_dict()} for outcome, tally in self.outcomes.items()]
        return pd.DataFrame(rows, columns=["outcome", "files", "bytes"])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        outcomes = {outcome.value: tally.to_dict() for outcome, tally in self.outcomes.items()}
        return report_html(self.to_dict(), outcomes)


def _named(reasons: Iterable[tuple[str, str]], kind: str = "location") -> list[dict[str, str]]:
    return [{kind: name, "reason": reason} for name, reason in itertools.islice(reasons, MAX_NAMES)]


def _file(file: NamedFile) -> dict[str, str | None]:
    return {"path": file.path, "reason": file.reason}
