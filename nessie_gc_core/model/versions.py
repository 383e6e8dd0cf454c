"""Versions of files: what a store says of one key, and what may be done with which of its versions.

A store that keeps versions hides a file behind a *delete marker*. These rules say which marker and which version are
meant; whoever sends the requests only follows them. In doubt they say FAILED.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """One file to hide, to show again or to purge, in a store that keeps versions."""

    path: str
    """Raw path below its location."""
    size: int | None = None
    """Size in bytes as it was listed."""
    modified: datetime | None = None
    """Last modification as it was listed, UTC."""
    version: str = ""
    """The store's id of the version; empty: the newest one with this size and time. Of a tagged file its entity tag."""
    marker: str = ""
    """The store's id of the delete marker that hides it; empty: unknown. Of a tagged file: the value of its tag."""


class VersionStatus(StrEnum):
    """What a deleter says about one file that it was to hide or tag, to show or untag, or to purge."""

    DONE = "DONE"
    """It is hidden or tagged, or visible or untagged, or purged, as was asked."""
    MISSING = "MISSING"
    """There is no such version; of a file to hide: nothing is visible at its path."""
    EXISTS = "EXISTS"
    """A newer file is at its path, or it has the tag of another sweep; both stay as they are."""
    RELEASED = "RELEASED"
    """Somebody else removed its delete marker or its tag, or wrote a tagged file again. It is not purged."""
    FAILED = "FAILED"
    """It could not be done; the outcome has the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOutcome:
    """The outcome for one file; a deleter returns exactly one for each file."""

    path: str
    """The :attr:`FileVersion.path` it was given."""
    status: VersionStatus
    """What became of it."""
    version: str = ""
    """Of a hidden file: its version. Of a tagged one: its entity tag."""
    marker: str = ""
    """Of a hidden file: the delete marker that hides it. Of a tagged one: the value of its tag."""
    reason: str = ""
    """Why it failed, or stays as it is: one line, without secrets; empty otherwise."""
    older: int = 0
    """Of a file that was deleted with all its versions: how many older ones there were."""
    older_bytes: int = 0
    """Their size in bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyVersion:
    """One version of a key, or one of its delete markers, as the store lists it."""

    version: str
    """The store's id of it."""
    marker: bool = False
    """Whether it is a delete marker."""
    current: bool = False
    """Whether it is what a reader of the key sees."""
    size: int | None = None
    """Size in bytes."""
    modified: datetime | None = None
    """When it was written, UTC."""
    etag: str = ""
    """Entity tag of its content."""


class ToPurge(NamedTuple):
    """What is deleted, in this order; an empty id is nothing."""

    version: str
    marker: str


class ToDelete(NamedTuple):
    """What is deleted with a file: the older versions first, then what is current, then the markers that are left."""

    older: Sequence[KeyVersion]
    current: KeyVersion
    markers: Sequence[KeyVersion]

    def done(self, asked: FileVersion) -> VersionOutcome:
        """The outcome when all of it is gone."""
        older_bytes = sum(each.size or 0 for each in self.older)
        status = VersionStatus.DONE
        return VersionOutcome(path=asked.path, status=status, older=len(self.older), older_bytes=older_bytes)


Listed = Sequence[KeyVersion]
"""All versions and markers of one key; the versions newest first."""
_CHANGED = "it was written again since it was listed"
_NO_CURRENT = "the store does not say which of its versions is the current one"
_NOT_OURS = "a delete marker that somebody else made hides it"
_SEVERAL = "several delete markers may hide it, and which one is of the quarantine is unknown"
_MEANWHILE = "something else was written or deleted at its path at the same moment"


def to_hide(found: Listed, asked: FileVersion) -> KeyVersion | VersionOutcome:
    """The version that may be hidden: what is current is what was listed. Or the outcome, with nothing to do."""
    current = _current(found)
    if not found:
        return _outcome(asked, VersionStatus.MISSING)
    if current is None:
        return _failed(asked, _NO_CURRENT)
    if not current.marker:
        return current if _is_listed(current, asked) else _failed(asked, _CHANGED)
    version = _newest(found)
    marker = None if version is None or not _is_listed(version, asked) else _marker_of(found, asked, version)
    if version is None or not isinstance(marker, KeyVersion):
        return _outcome(asked, VersionStatus.MISSING)
    return VersionOutcome(path=asked.path, status=VersionStatus.MISSING, version=version.version, marker=marker.version)


def hidden(before: Listed, after: Listed, asked: FileVersion, version: KeyVersion, told: str) -> VersionOutcome:
    """Whether a version is hidden by one new marker, and nothing else has happened at its key.

    Otherwise the marker that was made has to be removed again.

    Args:
        before: the versions before the marker was made.
        after: those after it.
        asked: the file.
        version: what was current.
        told: the id of the marker, if the store said it.
    """
    known = {each.version for each in before}
    new = [each for each in after if each.version not in known]
    is_there = any(each.version == version.version and not each.marker for each in after)
    if len(new) == 1 and new[0].marker and new[0].current and is_there and told in ("", new[0].version):
        return VersionOutcome(
            path=asked.path, status=VersionStatus.DONE, version=version.version, marker=new[0].version
        )
    return _failed(asked, _MEANWHILE if new else "the store made no delete marker")


def to_show(found: Listed, asked: FileVersion) -> KeyVersion | VersionOutcome:
    """The marker to remove so that a version is visible again. Or the outcome, with nothing to do."""
    version = _asked_for(found, asked)
    if version is None:
        return _outcome(asked, VersionStatus.MISSING)
    if version.current:
        return _outcome(asked, VersionStatus.DONE)
    if version is not _newest(found):
        return _outcome(asked, VersionStatus.EXISTS)
    marker = _marker_of(found, asked, version)
    if isinstance(marker, str):
        return _failed(asked, marker)
    return marker if marker.current else _failed(asked, _NOT_OURS)


def shown(after: Listed, asked: FileVersion, version: str) -> VersionOutcome:
    """Whether a version is visible when its marker is gone."""
    current = _current(after)
    if current is not None and not current.marker:
        is_it = current.version == version
        return _outcome(asked, VersionStatus.DONE if is_it else VersionStatus.EXISTS)
    return _failed(asked, _NOT_OURS if current is not None else _NO_CURRENT)


def to_purge(found: Listed, asked: FileVersion) -> ToPurge | VersionOutcome:
    """What is deleted for good. Or the outcome, with nothing to do.

    A marker stays where another version would come to light without it.
    """
    version = _asked_for(found, asked)
    if version is None:
        left = next((each for each in found if each.marker and each.version == asked.marker), None)
        if left is None:
            return _outcome(asked, VersionStatus.MISSING)
        return ToPurge("", left.version if _may_go(left, found, None) else "")
    if version.current:
        return _outcome(asked, VersionStatus.RELEASED)
    marker = _marker_of(found, asked, version)
    if isinstance(marker, str):
        gone = asked.marker and all(each.version != asked.marker for each in found)
        return _outcome(asked, VersionStatus.RELEASED) if gone else _failed(asked, marker)
    return ToPurge(version.version, marker.version if _may_go(marker, found, version) else "")


def to_delete(found: Listed, asked: FileVersion) -> ToDelete | VersionOutcome:
    """What is deleted where a file is deleted with all its versions. Or the outcome, with nothing to do.

    What is current has to be what was listed, so every other version is at least as old. Of a file that is deleted
    already nothing is touched.
    """
    current = _current(found)
    if not found or (current is not None and current.marker):
        return _outcome(asked, VersionStatus.MISSING)
    if current is None or _newest(found) is not current:
        return _failed(asked, _NO_CURRENT)
    if not _is_listed(current, asked):
        return _failed(asked, _CHANGED)
    older = [each for each in found if not each.marker and each is not current]
    return ToDelete(older, current, [each for each in found if each.marker])


def visible(found: Listed) -> str:
    """The version of a key that :func:`to_show` is about to show; empty: there is none."""
    version = _newest(found)
    return "" if version is None else version.version


def _current(found: Listed) -> KeyVersion | None:
    current = [each for each in found if each.current]
    return current[0] if len(current) == 1 else None


def _newest(found: Listed) -> KeyVersion | None:
    """The newest version, markers aside; none if the order and the times of the store disagree."""
    versions = [each for each in found if not each.marker]
    if not versions or any(_later(each, versions[0]) for each in versions):
        return None
    return versions[0]


def _later(one: KeyVersion, other: KeyVersion) -> bool:
    return one.modified is None or other.modified is None or one.modified > other.modified


def _is_listed(version: KeyVersion, asked: FileVersion) -> bool:
    """Whether it is the file that was listed; a store may tell times in whole seconds."""
    if asked.size is None or asked.modified is None or version.modified is None:
        return False
    same = asked.modified.replace(microsecond=0) == version.modified.replace(microsecond=0)
    return same and asked.size == version.size and asked.version in ("", version.version)


def _asked_for(found: Listed, asked: FileVersion) -> KeyVersion | None:
    return next((each for each in found if not each.marker and _is_listed(each, asked)), None)


def _marker_of(found: Listed, asked: FileVersion, version: KeyVersion) -> KeyVersion | str:
    """The marker that hides a version; where it is not known, the only one that can. Or why there is none."""
    markers = [each for each in found if each.marker]
    if asked.marker:
        return next((each for each in markers if each.version == asked.marker), _NOT_OURS)
    over = [each for each in markers if not _earlier(each, version)]
    if version is not _newest(found) or len(over) != 1 or not over[0].current:
        return _SEVERAL
    return over[0]


def _earlier(marker: KeyVersion, version: KeyVersion) -> bool:
    if marker.modified is None or version.modified is None:
        return False
    return marker.modified.replace(microsecond=0) < version.modified.replace(microsecond=0)


def _may_go(marker: KeyVersion, found: Listed, version: KeyVersion | None) -> bool:
    """Whether no other version becomes visible when a marker is removed."""
    return not marker.current or all(each.marker or each is version for each in found)


def _outcome(asked: FileVersion, status: VersionStatus) -> VersionOutcome:
    return VersionOutcome(path=asked.path, status=status)


def _failed(asked: FileVersion, reason: str) -> VersionOutcome:
    return VersionOutcome(path=asked.path, status=VersionStatus.FAILED, reason=reason)
