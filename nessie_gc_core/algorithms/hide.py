"""Hide: unreferenced files stay in their bucket as versions behind delete markers, to be shown or purged (S15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Self
from urllib.parse import quote, unquote

from nessie_gc_core.algorithms.delete import said_once
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import FileDeleter, SupportsHiding
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.model.batches import Value, from_micros
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.quarantine import bucket_of_versions
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus

_Held = Mapping[str, Value]
_CANNOT = "its store cannot hide files"


class HiddenPath(NamedTuple):
    """The path of a hidden file in quarantine: who hid what, and the ids of the version and of its marker."""

    live_set_id: str
    modified: str
    version: str
    marker: str
    key: str
    """Bucket and key."""

    @classmethod
    def parse(cls, held_path: str) -> Self:
        """The parts of a path."""
        live_set_id, modified, version, marker, key = held_path.split("/", 4)
        return cls(live_set_id, modified, unquote(version), unquote(marker), key)

    def __str__(self) -> str:
        ids = (quote(each, safe="") for each in (self.version, self.marker))
        return "/".join((self.live_set_id, self.modified, *ids, self.key))


def hide(
    deleter: FileDeleter, location: str, files: Sequence[FileReference], held_path: Callable[[FileReference], str]
) -> Iterator[tuple[str, Outcome, str]]:
    """Hides files; the reason of one in quarantine is its path there, with its ids.

    Args:
        deleter: where the files are.
        location: their raw location.
        files: what is hidden.
        held_path: the path of each without ids.
    """
    if not isinstance(deleter, SupportsHiding):
        yield from ((file.path, Outcome.FAILED, _CANNOT) for file in files)
        return
    paths = {file.path: held_path(file) for file in files}
    asked = [FileVersion(path=file.path, size=file.size, modified=file.modified) for file in files]
    for path, said in said_once(asked, deleter.batch_size, partial(deleter.hide_files, location)):
        if isinstance(said, str):
            yield path, Outcome.FAILED, said
        else:
            yield path, *_outcome(said, paths[path])


def _outcome(said: VersionOutcome, held_path: str) -> tuple[Outcome, str]:
    """A file that an earlier attempt of the same task hid is in quarantine; whoever else did that, it is gone."""
    has_ids = bool(said.version and said.marker)
    repeated = said.status is VersionStatus.MISSING and task_attempt.get() > 0
    if has_ids and (said.status is VersionStatus.DONE or repeated):
        return Outcome.QUARANTINED, str(HiddenPath.parse(held_path)._replace(version=said.version, marker=said.marker))
    if said.status is VersionStatus.MISSING and task_attempt.get() > 0:
        return Outcome.FAILED, "it is gone, and an earlier attempt of this task may have hidden it"
    if said.status is VersionStatus.MISSING:
        return Outcome.ALREADY_GONE, ""
    return Outcome.FAILED, said.reason or "the deleter returned no ids for it"


def shown(connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[tuple[_Held, VersionOutcome]]:
    """Makes hidden files visible again; rows are those of files in quarantine (:data:`HELD_FILES`)."""
    return _released(connectors, rows, lambda deleter: deleter.show_files)


def purged(connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[tuple[_Held, VersionOutcome]]:
    """Deletes hidden files for good."""
    return _released(connectors, rows, lambda deleter: deleter.purge_versions)


_Verb = Callable[[str, Sequence[FileVersion]], Iterator[VersionOutcome]]


def _released(
    connectors: OpenConnectors, rows: Sequence[_Held], verb: Callable[[SupportsHiding], _Verb]
) -> Iterator[tuple[_Held, VersionOutcome]]:
    """Those of one location together; two versions of one file one after the other."""
    waiting = list(rows)
    while waiting:
        now: dict[str, dict[str, _Held]] = {}
        later = list[_Held]()
        for row in waiting:
            there = now.setdefault(str(row["location"]), {})
            if there.setdefault(str(row["path"]), row) is not row:
                later.append(row)
        for location, by_path in now.items():
            yield from _at(connectors.deleter(location), location, by_path, verb)
        waiting = later


def _at(
    deleter: FileDeleter, location: str, by_path: Mapping[str, _Held], verb: Callable[[SupportsHiding], _Verb]
) -> Iterator[tuple[_Held, VersionOutcome]]:
    if not isinstance(deleter, SupportsHiding):
        yield from ((row, _failed(path, _CANNOT)) for path, row in by_path.items())
        return
    asked = [_version(row) for row in by_path.values()]
    for path, said in said_once(asked, deleter.batch_size, partial(verb(deleter), location)):
        yield by_path[path], _failed(path, said) if isinstance(said, str) else said


def _version(row: _Held) -> FileVersion:
    held, numbers = HiddenPath.parse(str(row["held_path"])), (row["size"], row["modified"])
    size, modified = (each if isinstance(each, int) else None for each in numbers)
    return FileVersion(
        path=str(row["path"]),
        size=size,
        modified=from_micros(modified),
        version=held.version,
        marker=held.marker,
    )


def _failed(path: str, reason: str) -> VersionOutcome:
    return VersionOutcome(path=path, status=VersionStatus.FAILED, reason=reason)


def is_hidden(row: _Held) -> bool:
    """Whether a file in quarantine is hidden, and was not moved."""
    return bucket_of_versions(str(row["place"])) is not None
