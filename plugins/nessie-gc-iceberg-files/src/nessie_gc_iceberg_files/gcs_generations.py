"""Generations of an object of Google Cloud Storage, as versions with delete markers.

There are no delete markers: an object is hidden when its live generation becomes noncurrent, and it never becomes live
again. What is restored is a copy: a new generation with the same bytes. The rules of versions are the same all the
same: the deletion of a generation counts as a marker, with an id of its own, and a copy of a generation counts as it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nessie_gc_core.model.versions import FileVersion, KeyVersion

_NO_GENERATION = "0"
FIELDS = "name,generation,size,updated,timeCreated,timeDeleted,crc32c,md5Hash"
"""What is asked of a generation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One generation of an object."""

    number: str
    """Never used twice for one name; newer ones are greater."""
    size: int | None
    created: datetime | None
    updated: datetime | None
    """Also changes with the metadata; a listing has it as the time of a file."""
    deleted: datetime | None
    """When it became noncurrent; none: it is live."""
    checksum: str

    @classmethod
    def of(cls, item: Mapping[str, Any]) -> Generation:
        """As the objects list has it."""
        return cls(
            number=str(item["generation"]),
            size=None if item.get("size") is None else int(item["size"]),
            created=_time(item.get("timeCreated")),
            updated=_time(item.get("updated")),
            deleted=_time(item.get("timeDeleted")),
            checksum=str(item.get("crc32c") or item.get("md5Hash") or ""),
        )

    @property
    def is_live(self) -> bool:
        """Whether it is what a reader gets."""
        return self.deleted is None

    @property
    def marker(self) -> str:
        """The id of its deletion: it tells the checksum when the generation is gone."""
        return f"{self.number}:{self.checksum}"


def newest_first(found: Sequence[Generation]) -> list[Generation]:
    """In the order of their numbers."""
    return sorted(found, key=lambda each: int(each.number), reverse=True)


class Seen(NamedTuple):
    """What the rules of versions get to see."""

    versions: Sequence[KeyVersion]
    asked: FileVersion
    """The file with the number of its generation: the rules compare times in whole seconds."""


def as_versions(found: Sequence[Generation], asked: FileVersion, *, copy: Generation | None = None) -> Seen:
    """Generations as versions and markers.

    Args:
        found: all generations, newest first.
        asked: the file.
        copy: the newest generation, where it counts as the one that is asked for.
    """
    own = own_of(found, asked)
    number = asked.version if own is None else own.number
    if copy is not None:
        number = number or copy.number
        seen = [_version(copy, number=number, modified=asked.modified), *_markers(copy)]
        return Seen(seen, replace(asked, version=number))
    seen = [_version(each, number=each.number, modified=_modified(each, own, asked)) for each in found]
    seen.extend(_markers(found[0]) if found else ())
    if own is not None and own is not found[0] and asked.version:
        seen.append(_marker(own, current=False))
    return Seen(seen, replace(asked, version=number or _NO_GENERATION))


def own_of(found: Sequence[Generation], asked: FileVersion) -> Generation | None:
    """The generation that is asked for: by its number, or the only one with this size and time.

    Raises:
        ValueError: several may be meant.
    """
    if asked.version:
        return next((each for each in found if each.number == asked.version), None)
    listed = [each for each in found if each.size == asked.size and _was_listed(each, asked)]
    if len(listed) > 1:
        raise ValueError("several of its versions have this size and time, and which one is meant is unknown")
    return listed[0] if listed else None


def copy_of(found: Sequence[Generation], asked: FileVersion) -> Generation | None:
    """The newest generation, if it is a later one with the bytes of the one that is asked for.

    Where nothing else of those bytes is known any more, their number has to do: it may be another file then.
    """
    own, newest = own_of(found, asked), found[0] if found else None
    if newest is None or newest is own or newest.size is None or newest.size != asked.size:
        return None
    if not newest.is_live and not asked.marker:
        return None  # which of the two was deleted here is unknown
    if own is not None or asked.marker:
        checksum = asked.marker.partition(":")[2] if own is None else own.checksum
        is_same = bool(checksum) and checksum == newest.checksum
        return newest if is_same and _is_later(newest, own, asked) else None
    return newest if _is_later(newest, own, asked) else None


def _is_later(newest: Generation, own: Generation | None, asked: FileVersion) -> bool:
    number = own.number if own is not None else asked.version
    if number:
        return int(newest.number) > int(number)
    return newest.created is not None and asked.modified is not None and newest.created > asked.modified


def _version(generation: Generation, *, number: str, modified: datetime | None) -> KeyVersion:
    return KeyVersion(
        version=number,
        current=generation.is_live,
        size=generation.size,
        modified=modified,
        etag=generation.checksum,
    )


def _markers(newest: Generation) -> list[KeyVersion]:
    return [] if newest.is_live else [_marker(newest, current=True)]


def _marker(generation: Generation, *, current: bool) -> KeyVersion:
    return KeyVersion(version=generation.marker, marker=True, current=current, modified=generation.deleted)


def _modified(generation: Generation, own: Generation | None, asked: FileVersion) -> datetime | None:
    """The time in a listing of the one that is asked for; of others when they were written, which is in their order."""
    if generation is own:
        return asked.modified
    return generation.updated if generation.is_live else generation.created


def _was_listed(generation: Generation, asked: FileVersion) -> bool:
    """Whether a listing may have had its time; the metadata may have changed since it became noncurrent.

    A time in whole seconds may have been cut, as in a list of files; any other is exact.
    """
    times = (generation.updated,) if generation.is_live else (generation.updated, generation.created)
    if asked.modified is None or asked.modified.microsecond:
        return asked.modified is not None and asked.modified in times
    return asked.modified in [each.replace(microsecond=0) for each in times if each is not None]


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).astimezone(UTC) if text else None
