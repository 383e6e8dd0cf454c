"""Storable: what relations and databases cannot hold is known to be unknown, and stops nothing else (S6, S18)."""

from __future__ import annotations

import logging
import re
from dataclasses import replace

from nessie_gc_core.model.authorities import without_credentials
from nessie_gc_core.model.live_sets import ReferenceHead
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.text import without_passwords

log = logging.getLogger(__name__)

_PREFIX = "UNKNOWN:"
_ODD = re.compile(r"[\0\ud800-\udfff]")
"""NUL, which PostgreSQL cannot store, and halves of characters, which no encoding can represent."""
_SNAPSHOT_IDS = range(-(2**63), 2**63)
UNKNOWN_REASON = "its catalog gives it a text or number that cannot be stored (NUL, half a character, over 64 bits)"


def storable(version: ContentVersion) -> ContentVersion:
    """The version without credentials; if it cannot be held, one of an unknown type with everything known about it.

    Its texts are escaped, so that different ones stay different. Its location is the part of the true one that can
    be written down: everything below that part is frozen.
    """
    version = _without_credentials(version)
    texts = (
        version.content_id,
        version.content_type,
        version.metadata_location or "",
        version.content_key,
        version.commit_id,
        version.location or "",
    )
    fits = version.snapshot_id is None or version.snapshot_id in _SNAPSHOT_IDS
    if fits and not _ODD.search("".join(texts)):
        return version
    log.warning("content %s is unknown: %s", storable_text(version.content_key), UNKNOWN_REASON)
    metadata, location = version.metadata_location, version.location
    return ContentVersion(
        content_id=storable_text(version.content_id),
        content_type=_PREFIX + storable_text(version.content_type),
        metadata_location=None if metadata is None else storable_text(metadata),
        snapshot_id=version.snapshot_id if fits else None,
        content_key=storable_text(version.content_key),
        commit_id=storable_text(version.commit_id),
        commit_time=version.commit_time,
        location=None if location is None else _sayable(location),
    )


def _without_credentials(version: ContentVersion) -> ContentVersion:
    """The version, whose locations are stored and reported, but not the credentials that somebody wrote into them."""
    metadata, location = version.metadata_location, version.location
    plain = (metadata and without_credentials(metadata), location and without_credentials(location))
    if plain == (metadata, location):
        return version
    return replace(version, metadata_location=plain[0], location=plain[1])


def unknown_type(content_type: str) -> str | None:
    """The type that a version of an unknown type has in its catalog; ``None`` for every other type."""
    return content_type.removeprefix(_PREFIX) if content_type.startswith(_PREFIX) else None


def original_type(content_type: str) -> str:
    """The type that a version has in its catalog, unknown or not: whose reader knows how to look at its metadata."""
    return content_type.removeprefix(_PREFIX)


def storable_head(head: ReferenceHead) -> ReferenceHead:
    """A head whose texts can be held; one that is escaped is walked again by every re-check."""
    commit_id = None if head.commit_id is None else storable_text(head.commit_id)
    return replace(head, name=storable_text(head.name), commit_id=commit_id)


def storable_text(text: str) -> str:
    """The text if it can be held; otherwise escaped, including its own backslashes."""
    if not _ODD.search(text):
        return text
    return _ODD.sub(lambda odd: f"\\u{ord(odd[0]):04x}", text.replace("\\", "\\\\"))


def failure_text(error: BaseException) -> str:
    """What a live set remembers of an error; data may have got into its message, but no password of a URL."""
    return storable_text(without_passwords(f"{type(error).__name__}: {error}"))


def _sayable(location: str) -> str:
    """The location, or its longest parent without a character that cannot be said."""
    odd = _ODD.search(location)
    if odd is None:
        return location
    parent = location[: odd.start()].rpartition("/")[0]
    return f"{parent}/" if "://" in parent else storable_text(location)
