"""Unknown: what could not be read, which contents depend on it, and which prefixes are frozen for it (S6, S7, S18)."""

from __future__ import annotations

import functools
import itertools
import logging
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.expand import Expansion, ReadVersions
from nessie_gc_core.algorithms.in_quarantine import HeldPlaces
from nessie_gc_core.algorithms.parents import climb
from nessie_gc_core.algorithms.remembered import Remembered, Tolerance
from nessie_gc_core.algorithms.restorable import in_quarantine
from nessie_gc_core.algorithms.touched import Touched, TouchedFinder
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import to_texts, to_tuples, version_rows
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import CONTENT_VERSIONS, PROBLEM, VERSION_FILES
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.table_patterns import whole_name
from nessie_gc_core.model.text import plural

log = logging.getLogger(__name__)

_UNLISTED = "a content that its catalog lists and could not read had files here; the log says why"
_CONTENT = pa.schema([VERSION_FILES.field("content_id")])
_NAMED = pa.schema([*_CONTENT, VERSION_FILES.field("path")])
_VERSION = pa.schema([CONTENT_VERSIONS.field("metadata_location")])
_WHICH = pa.schema([*_CONTENT, VERSION_FILES.field("content_type"), *_VERSION])

MAX_PROBLEMS = 10_000
"""With more unreadable files than this, everything is frozen: the cause is then not the files."""
NEVER_READ_NAMED = 20
"""Contents that are named with what to do where they were never read."""
MAX_NAMED = 100
"""Unreadable files that a plan names, beside the units that are frozen for them."""
_PATH = pa.schema([VERSION_FILES.field("path")])


@dataclass(slots=True)
class Problems:
    """The unreadable files that matter, and the contents they make unknown."""

    reasons: dict[str, str] = field(default_factory=dict)
    """Raw path to the reason why it could not be read."""
    content_ids: set[str] = field(default_factory=set)
    set_aside: set[str] = field(default_factory=set)
    """Ids of contents that are unknown as well, and that a person set aside: nothing is frozen for them."""
    bad: set[str] = field(default_factory=set)
    """Raw paths of the files that cannot be read or are in no known place, and of those that name them."""
    unread: set[str] = field(default_factory=set)
    """The same without files in no known place that name no others: what is needed is known by their names (S30)."""
    tolerated: int = 0
    """Missing metadata files of older versions that an earlier run deleted."""
    in_quarantine: dict[str, str] = field(default_factory=dict)
    """Those of the files that are in quarantine: raw path to the canonical location from which it was taken (S29)."""

    def __bool__(self) -> bool:
        """Whether there is one."""
        return bool(self.reasons or self.content_ids)

    def example(self, preferred: Callable[[str], bool] = lambda path: True) -> str:
        """One of the unreadable files and why it is; one of the preferred, where there is any."""
        restorable_first = sorted(self.reasons, key=lambda path: (path not in self.in_quarantine, path))
        path = next((path for path in restorable_first if preferred(path)), None)
        if path is not None or len(self.reasons) == 1:
            path = path or min(self.reasons)
            return f"cannot read {path}: {self.reasons[path]}"
        return f"a content here needs one of {len(self.reasons)} files that cannot be read, such as {min(self.reasons)}"

    @property
    def too_many(self) -> bool:
        """Whether so much is unreadable that nothing should be concluded."""
        return max(len(self.reasons), len(self.content_ids)) > MAX_PROBLEMS


class _Unread(NamedTuple):
    """A version that could not be read, of the rows with a problem (:data:`VERSION_FILES`)."""

    path: str
    content_id: str
    problem: str
    missing: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFinder:
    """Finds what is unknown in one expansion of a live set."""

    engine: Engine
    remembered: Sequence[Remembered]
    """What is known of the contents of each repository."""
    rules: LocationRules
    choice: ConnectorChoice
    readers: Sequence[type[ContentToFiles]]
    held: Callable[[], HeldPlaces | None] = lambda: None
    """Where the files in quarantine were; ``None``: there are none."""
    set_aside: frozenset[str] = frozenset()
    """Ids of contents that a person sets aside."""

    def with_versions(self, versions: Iterable[Sequence[ContentVersion]]) -> UnknownFinder:
        """The same, knowing more live versions of each repository."""
        known = zip(self.remembered, versions, strict=True)
        return replace(self, remembered=[remembered.with_versions(more) for remembered, more in known])

    def find(self, version_files: Dataset, expansion: Expansion) -> Problems:
        """All problems of an expansion, with the contents that depend on them."""
        problems = Problems()
        self._look_in_quarantine(version_files, expansion, problems)
        self._version_problems(version_files, problems)
        deep = expansion.problems().head(MAX_PROBLEMS + 1).to_pylist()
        problems.reasons.update({row["path"]: row["problem"] for row in deep})
        for path, root in problems.in_quarantine.items():
            problems.reasons[path] = in_quarantine(root)
        if deep and not problems.too_many:
            self._blame({row["path"] for row in deep}, version_files, expansion, problems)
            self._tell_unread(deep, expansion, problems)
        return problems

    def freeze(
        self,
        problems: Problems,
        version_files: Dataset,
        index: UnitIndex,
        plan: SweepPlan,
        *,
        strict: bool,
        unlisted: Collection[str] = (),
    ) -> str | None:
        """Takes every unit out of the plan that unknown contents touch, or ever reached.

        All of them where one was never read, because nothing says what it needs (S31).

        Args:
            problems: what cannot be read.
            version_files: what all live versions name at first hand (:data:`VERSION_FILES`).
            index: the sweep units.
            plan: where they are.
            strict: whether one that is unknown removes all of them.
            unlisted: ids of contents that their repository could not read itself.

        Returns:
            which contents were never read, and what to do, if there is one.
        """
        if not problems and not unlisted:
            return None
        for path in sorted(problems.reasons.keys() - problems.in_quarantine.keys())[:MAX_NAMED]:
            plan.unreadable[path] = problems.reasons[path]
        if problems.in_quarantine:
            plan.restorable.add(problems.in_quarantine)
            plan.freeze(problems.in_quarantine.values(), problems.example())
        if strict or problems.too_many:
            if problems:
                plan.freeze_all(problems.example())
            return None
        ids = problems.content_ids.union(unlisted)
        touched = self._touched(ids, version_files, index, unlisted)
        for prefix in sorted(touched.prefixes):
            below = functools.partial(self._is_below, prefix)
            plan.freeze([prefix], problems.example(below) if problems.reasons else _UNLISTED)
        if problems.in_quarantine:
            plan.restorable.prefixes |= touched.prefixes
        read = touched.read | self._read_now(ids - touched.read, version_files, problems.unread)
        placed = touched.placed.union(unlisted)  # where these are, or that nobody knows, their repository says
        never = (ids - (read & placed)) | touched.silent
        if not never:
            return None
        plan.freeze_all(f"{plural(len(never), 'content')} of this run cannot be read and never could: see the warnings")
        return self._never_read(never, problems)

    def _never_read(self, content_ids: Collection[str], problems: Problems) -> str:
        """What to do about contents that were never read, by their names."""
        versions = (version for each in self.remembered for version in each.versions_of(sorted(content_ids)))
        names = sorted({version.content_key for version in versions}) or sorted(content_ids)
        more = f" and {len(names) - NEVER_READ_NAMED} more" if len(names) > NEVER_READ_NAMED else ""
        named = names[:NEVER_READ_NAMED]
        options = " ".join(f"`set_aside` {shlex.quote(whole_name(name))}" for name in named)
        example = f" ({problems.example()})" if problems.reasons else ""
        return (
            f"nothing is deleted: {plural(len(names), 'content')} cannot be read and never could, so that nobody knows "
            f"which files they need: {', '.join(named)}{more}{example}. Make them readable, drop them, or if they "
            f"are gone, set them aside with {options}"
        )

    def never_read(self, problems: Problems, version_files: Dataset) -> set[str]:
        """Those of the unknown contents of which no version could be read to its end."""
        ids = problems.content_ids | problems.set_aside
        return ids - self._read_now(ids, version_files, problems.bad)

    def _read_now(self, content_ids: Collection[str], version_files: Dataset, bad: Collection[str]) -> set[str]:
        """Those of some contents of which a version can be read to its end."""
        if not content_ids:
            return set()
        rows = version_files.where("content_id", sorted(content_ids))
        mine = rows.where("kind", [PROBLEM], negate=True)
        failed = rows.where("kind", [PROBLEM])
        problems = failed.distinct(["path"]).head(MAX_PROBLEMS + 1).column("path").to_pylist()
        broken_off = {path for raw in problems for path in (raw, self.rules.to_open(raw))}
        complete = mine.where("path", sorted(broken_off), negate=True) if broken_off else mine
        of_files = mine.where("kind", self._expandable or [PROBLEM])
        whole = of_files.where("path", sorted(bad), negate=True) if bad else of_files
        found = _ids(whole) | (_ids(complete) - _ids(of_files))  # the others have no files at all
        in_doubt = _ids(failed) | (_ids(of_files.where("path", sorted(bad))) if bad else set())
        return found - self._read_in_part(found & in_doubt, mine, bad)

    def _read_in_part(self, content_ids: Collection[str], files: Dataset, bad: Collection[str]) -> set[str]:
        """Those of some contents of which each version breaks off or needs a bad file, though some of it can be read.

        What is of another type than these versions, such as the log beside them, says nothing of what they need.

        Args:
            content_ids: the contents.
            files: what versions of theirs name (:data:`VERSION_FILES`): only those versions count.
            bad: raw paths of bad files.
        """
        if not content_ids:
            return set()
        found = (version for each in self.remembered for version in each.versions_of(sorted(content_ids)))
        versions = self.engine.dataset(version_rows(found), CONTENT_VERSIONS)
        rows = versions.flat_map(ReadVersions(self.choice, carried=_VERSION)).checkpoint()
        named = files.where("kind", [FileKind.METADATA]).select(_NAMED)
        roots = rows.where("kind", [FileKind.METADATA]).semi_join(named, list(_NAMED.names))
        broken = rows.where("kind", [PROBLEM]).union(rows.where("path", sorted(bad))).select(_WHICH)
        whole = roots.semi_join(broken, ["content_id", "content_type"]).anti_join(broken, list(_WHICH.names))
        return set(content_ids) - _ids(whole)

    @property
    def _expandable(self) -> list[str]:
        return sorted({kind for reader in self.readers for kind in reader.expandable_kinds})

    def _touched(
        self, content_ids: Collection[str], version_files: Dataset, index: UnitIndex, unlisted: Collection[str]
    ) -> Touched:
        finder = self._touched_finder()
        touched = finder.find(content_ids, version_files, index)
        if strange := set(unlisted) - touched.read:
            finder.add_predecessors(sorted(strange), touched, index)
        return touched

    def _touched_finder(self) -> TouchedFinder:
        return TouchedFinder(
            engine=self.engine,
            remembered=self.remembered,
            choice=self.choice,
            readers=self.readers,
        )

    def _is_below(self, prefix: str, path: str) -> bool:
        try:
            return self.rules.place(path).startswith(prefix)
        except UnknownLocationError:
            return False

    def _look_in_quarantine(self, version_files: Dataset, expansion: Expansion, problems: Problems) -> None:
        """Finds out which of the missing files are in quarantine: they are not lost, whatever a tombstone says."""
        held = self.held()
        if held is None:
            return
        missing = version_files.where("kind", [PROBLEM]).where("missing", [True]).select(_PATH)
        unread = expansion.problems().select(_PATH)
        problems.in_quarantine.update(held.among(missing.union(unread), most=MAX_PROBLEMS + 1))

    def _version_problems(self, version_files: Dataset, problems: Problems) -> None:
        rows = (row for batch in version_files.where("kind", [PROBLEM]).batches() for row in to_tuples(batch, _Unread))
        tolerance = Tolerance(self.remembered, self._comparable)
        while portion := list(itertools.islice(rows, 1000)):
            problems.set_aside.update(row.content_id for row in portion if row.content_id in self.set_aside)
            portion = [row for row in portion if row.content_id not in self.set_aside]
            missing = (row for row in portion if row.missing and row.path not in problems.in_quarantine)
            tolerated = tolerance.of((row.path, row.content_id) for row in missing)
            for row in portion:
                if (row.path, row.content_id) in tolerated:
                    problems.tolerated += 1
                    continue
                problems.reasons[row.path] = row.problem
                problems.content_ids.add(row.content_id)
                if problems.too_many:
                    return

    def _comparable(self, path: str) -> str:
        """What a path is, or the raw one where that is not known: a reader may spell a path differently (S3)."""
        try:
            return self.rules.place(path)
        except UnknownLocationError:
            return path

    def _blame(self, bad: set[str], version_files: Dataset, expansion: Expansion, problems: Problems) -> None:
        """Adds the contents that reach one of the bad files, by reading their parents once more.

        If all of them are set aside, the files do not count.
        """
        deep = set(bad)
        bad = self._with_parents(bad, expansion)
        if len(bad) > MAX_PROBLEMS:
            problems.reasons.update(dict.fromkeys(bad, "names a file that cannot be read"))
            return
        problems.bad |= bad
        contents = version_files.where("path", sorted(bad)).distinct(["content_id"]).head(MAX_PROBLEMS + 1)
        found = {str(value) for value in contents.column("content_id").to_pylist()}
        problems.set_aside |= found & self.set_aside
        problems.content_ids |= found - self.set_aside
        if found and found <= self.set_aside:
            for path in deep:
                del problems.reasons[path]

    def _tell_unread(self, deep: Sequence[Mapping[str, Any]], expansion: Expansion, problems: Problems) -> None:
        """Adds those of the bad files without which a content is not read; takes rows of kind PROBLEM."""
        parents = self._expandable
        unread = {row["path"] for row in deep if row["key"] is None or row["key"] in parents}
        problems.unread |= problems.bad if len(unread) == len(deep) else self._with_parents(unread, expansion)

    def _with_parents(self, paths: Collection[str], expansion: Expansion) -> set[str]:
        """Some files and all that lead to them; more than :data:`MAX_PROBLEMS` where it is too many to know."""
        found = set(paths)
        for parents in climb(expansion.files, self.readers, self.choice, found, most=MAX_PROBLEMS) if found else ():
            found |= parents
            if len(found) > MAX_PROBLEMS:
                break
        return found


def _ids(rows: Dataset) -> set[str]:
    """Ids of the contents of which there is a row."""
    found = rows.select(_CONTENT).distinct(list(_CONTENT.names)).batches()
    return {content_id for batch in found for (content_id,) in to_texts(batch, "content_id")}
