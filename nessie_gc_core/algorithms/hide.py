"""Hide: unreferenced files stay in their bucket, behind delete markers or with a tag (S15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, Self
from urllib.parse import quote, unquote

from nessie_gc_core.algorithms.delete import said_once
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import FileDeleter, SupportsHiding, SupportsObjectTags
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.model.batches import Value, from_micros
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.quarantine import bucket_of, bucket_of_tags
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus

_Held = Mapping[str, Value]
_Verb = Callable[[str, Sequence[FileVersion]], Iterator[VersionOutcome]]


class _Verbs(NamedTuple):
    """What a deleter does with files that stay in their bucket."""

    hide: _Verb
    show: _Verb
    purge: _Verb


def _verbs(deleter: FileDeleter, place: str) -> _Verbs | str:
    """Those that fit a quarantine, or why there are none."""
    if bucket_of_tags(place) is None:
        if isinstance(deleter, SupportsHiding):
            return _Verbs(deleter.hide_files, deleter.show_files, deleter.purge_versions)
        return "its store cannot hide files"
    if isinstance(deleter, SupportsObjectTags):
        return _Verbs(deleter.tag_files, deleter.untag_files, deleter.purge_tagged)
    return "its store cannot tag files"


class HiddenPath(NamedTuple):
    """The path in quarantine of a file that stays where it is: who hid or tagged what, and the ids that it has then."""

    live_set_id: str
    modified: str
    version: str
    """The id of its version, or its entity tag."""
    marker: str
    """The id of its delete marker, or the value of its tag."""
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
    deleter: FileDeleter,
    place: str,
    location: str,
    files: Sequence[FileReference],
    held_path: Callable[[FileReference], str],
) -> Iterator[tuple[str, Outcome, str]]:
    """Hides or tags files; the reason of one in quarantine is its path there, with its ids.

    Args:
        deleter: where the files are.
        place: the quarantine.
        location: their raw location.
        files: what is hidden or tagged.
        held_path: the path of each without ids.
    """
    verbs = _verbs(deleter, place)
    if isinstance(verbs, str):
        yield from ((file.path, Outcome.FAILED, verbs) for file in files)
        return
    paths = {file.path: held_path(file) for file in files}
    asked = [
        FileVersion(path=file.path, size=file.size, modified=file.modified, marker=_tag(place, paths[file.path]))
        for file in files
    ]
    for path, said in said_once(asked, deleter.batch_size, partial(verbs.hide, location)):
        if isinstance(said, str):
            yield path, Outcome.FAILED, said
        else:
            yield path, *_outcome(said, paths[path], hides=bucket_of_tags(place) is None)


def _outcome(said: VersionOutcome, held_path: str, *, hides: bool) -> tuple[Outcome, str]:
    """A file that an earlier attempt of the same task hid is in quarantine; whoever else did that, it is gone.

    So is one that was to be tagged, whatever an earlier attempt did.
    """
    has_ids = bool(said.version and said.marker)
    repeated = said.status is VersionStatus.MISSING and task_attempt.get() > 0
    if has_ids and (said.status is VersionStatus.DONE or repeated):
        return Outcome.QUARANTINED, str(HiddenPath.parse(held_path)._replace(version=said.version, marker=said.marker))
    if said.status is VersionStatus.MISSING and task_attempt.get() > 0 and hides:
        return Outcome.FAILED, "it is gone, and an earlier attempt of this task may have hidden it"
    if said.status is VersionStatus.MISSING:
        return Outcome.ALREADY_GONE, ""
    return Outcome.FAILED, said.reason or "the deleter returned no ids for it"


def _tag(place: str, held_path: str) -> str:
    """The value of the tag that a file has in a quarantine; of another kind it has none."""
    return "" if bucket_of_tags(place) is None else HiddenPath.parse(held_path).live_set_id


def shown(connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[tuple[_Held, VersionOutcome]]:
    """Makes hidden files visible, or takes tags off; rows are those of files in quarantine (:data:`HELD_FILES`)."""
    return _released(connectors, rows, lambda verbs: verbs.show)


def purged(connectors: OpenConnectors, rows: Sequence[_Held]) -> Iterator[tuple[_Held, VersionOutcome]]:
    """Deletes hidden or tagged files for good."""
    return _released(connectors, rows, lambda verbs: verbs.purge)


def _released(
    connectors: OpenConnectors, rows: Sequence[_Held], verb: Callable[[_Verbs], _Verb]
) -> Iterator[tuple[_Held, VersionOutcome]]:
    """Those of one quarantine and location together; two versions of one file one after the other."""
    waiting = list(rows)
    while waiting:
        now: dict[tuple[str, str], dict[str, _Held]] = {}
        later = list[_Held]()
        for row in waiting:
            there = now.setdefault((str(row["place"]), str(row["location"])), {})
            if there.setdefault(str(row["path"]), row) is not row:
                later.append(row)
        for (place, location), by_path in now.items():
            deleter = connectors.deleter(location)
            verbs = _verbs(deleter, place)
            if isinstance(verbs, str):
                yield from ((row, _failed(path, verbs)) for path, row in by_path.items())
                continue
            asked = [_version(row) for row in by_path.values()]
            for path, said in said_once(asked, deleter.batch_size, partial(verb(verbs), location)):
                yield by_path[path], _failed(path, said) if isinstance(said, str) else said
        waiting = later


def _version(row: _Held) -> FileVersion:
    place, held_path = str(row["place"]), str(row["held_path"])
    held, numbers = HiddenPath.parse(held_path), (row["size"], row["modified"])
    size, modified = (each if isinstance(each, int) else None for each in numbers)
    return FileVersion(
        path=str(row["path"]),
        size=size,
        modified=from_micros(modified),
        version=held.version,
        marker=_tag(place, held_path) or held.marker,
    )


def _failed(path: str, reason: str) -> VersionOutcome:
    return VersionOutcome(path=path, status=VersionStatus.FAILED, reason=reason)


def stays_in_bucket(row: _Held) -> bool:
    """Whether a file in quarantine is hidden or tagged, and was not moved."""
    return bucket_of(str(row["place"])) is not None


def stays_readable(row: _Held) -> bool:
    """Whether it is tagged, so that it is at its path in any case."""
    return bucket_of_tags(str(row["place"])) is not None
