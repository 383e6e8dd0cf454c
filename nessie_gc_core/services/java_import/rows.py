"""From rows of the Java tool to our rows; whatever is in doubt is refused (S17)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from nessie_gc_core.model.java_tables import JavaBaseLocation, JavaContentVersion, JavaFileDeletion
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.repository import ICEBERG_TABLE, ICEBERG_VIEW, ContentVersion

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTENT_ID = 200
_CONTENT_TYPE = 40
_METADATA_LOCATION = 1000
_BASE_LOCATION = 500
_URI = 250
"""The lengths of the Java tool's columns. MariaDB cuts what it inserts with IGNORE."""


class DoubtError(ValueError):
    """A row cannot be used; the message says why."""


def version_of(row: JavaContentVersion) -> ContentVersion:
    """The content version of a row, with every value as it is.

    Raises:
        DoubtError: a value is missing, or may be cut.
    """
    content_id = _whole(row.content_id, _CONTENT_ID, "content id")
    content_type = _whole(row.content_type, _CONTENT_TYPE, "content type")
    if row.metadata_location is not None or content_type in (ICEBERG_TABLE, ICEBERG_VIEW):
        _whole(row.metadata_location, _METADATA_LOCATION, "metadata location")
    if row.content_key is None or row.commit_id is None:
        raise DoubtError("a content version has no key or no commit")
    return ContentVersion(
        content_id=content_id,
        content_type=content_type,
        metadata_location=row.metadata_location,
        snapshot_id=row.snapshot_id,
        content_key=row.content_key,
        commit_id=row.commit_id,
    )


def location_of(row: JavaBaseLocation) -> tuple[str, str]:
    """Content id and base location of a row.

    Raises:
        DoubtError: a value is missing, or may be cut.
    """
    content_id = _whole(row.content_id, _CONTENT_ID, "content id")
    return content_id, _whole(row.base_location, _BASE_LOCATION, "base location")


def deletion_of(row: JavaFileDeletion, *, before: datetime) -> FileDeletion:
    """The deferred deletion of a row; its size is unknown.

    Args:
        row: the row.
        before: the file must have been modified before this time: the Java tool has no grace period (S8).

    Raises:
        DoubtError: it cannot be used; messages of one kind are equal.
    """
    location, path = _whole(row.base_uri, _URI, "location"), _whole(row.path_uri, _URI, "path")
    if not location.endswith("/") or not _SCHEME.match(location):
        raise DoubtError("the location has no scheme or no slash at its end")
    if _SCHEME.match(path):
        raise DoubtError("the path is not below its location")
    if any(part in ("", ".", "..") for part in path.split("/")):
        raise DoubtError("the path has segments that may mean another file")
    modified = _time(row.modification_timestamp)
    if modified is None:
        raise DoubtError("its modification time is unknown")
    if modified >= before:
        raise DoubtError("the file was too young when the mark began")
    return FileDeletion(location=location, path=path, size=None, modified=modified)


def _time(milliseconds: int | None) -> datetime | None:
    if milliseconds is None or milliseconds < 0:
        return None
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _whole(text: str | None, limit: int, what: str) -> str:
    """A text that is there, and was stored as it was: one that fills its column may have been longer."""
    if text is None or not text:
        raise DoubtError(f"a {what} is missing")
    if len(text) == limit:
        raise DoubtError(f"a {what} may be cut: it fills its column of {limit} characters")
    if "?" in text:  # MariaDB writes it for characters that the table's character set lacks
        raise DoubtError(f"a {what} may have lost characters: it contains a question mark")
    return text
