"""What file systems of fsspec say of a file, each in its own words, and what has become of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_iceberg_files.stores import failed, one_line

_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified")
"""Names of the time of the last modification, by how many file systems have them; creation is not among them."""
_MILLISECONDS = "modificationTime"
"""WebHDFS counts them since 1970."""

Kind = Literal["file", "directory", "link", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One name in a directory."""

    path: str
    kind: Kind
    size: int | None
    modified: datetime | None


def entry_of(found: Mapping[str, Any]) -> Entry:
    """An entry as ``ls`` and ``info`` give it."""
    size = found.get("size")
    return Entry(
        path=str(found["name"]),
        kind=_kind(found),
        size=size if isinstance(size, int) else None,
        modified=modified_of(found),
    )


def kind_of(path: str, found: Mapping[str, Any]) -> Kind:
    """What the path is that was asked about.

    Raises:
        ValueError: the answer is about another one.
    """
    entry = entry_of(found)
    if entry.path.removesuffix("/") != path:
        raise ValueError(f"fsspec answered for another name, {entry.path!r}")
    return entry.kind


def _kind(found: Mapping[str, Any]) -> Kind:
    if found.get("islink") or found.get("type") in ("link", "symlink"):
        return "link"
    kind = found.get("type")
    return kind if kind in ("file", "directory") else "other"


def modified_of(found: Mapping[str, Any]) -> datetime | None:
    """The time of the last modification, UTC; ``None`` if it is not said, or may be meant in more than one way."""
    for name in _TIMES:
        if found.get(name) is not None:
            return _time(found[name])
    milliseconds = found.get(_MILLISECONDS)
    return _since_1970(milliseconds / 1000) if isinstance(milliseconds, int) and milliseconds > 0 else None


def _time(value: object) -> datetime | None:
    """A time with its zone, or seconds since 1970."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo is not None else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return _since_1970(value)
    return None


def _since_1970(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def outcome_of(path: str, kind: str | None, *, is_done: bool) -> DeleteOutcome:
    """The outcome of a file, by what is there now."""
    if kind is None:
        status = DeleteStatus.DELETED if is_done else DeleteStatus.ALREADY_GONE
        return DeleteOutcome(path=path, status=status)
    if is_done and kind == "file":
        return failed(path, "it is still there after its deletion")
    if is_done:
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)
    return failed(path, f"it is not a file but a {kind}")


def reason_of(error: BaseException, secrets: Sequence[str]) -> str:
    """What an error of a library says, in one line and without what it may quote."""
    text = (error.strerror if isinstance(error, OSError) else None) or str(error)
    for secret in secrets:
        text = text.replace(secret, "***")
    return one_line(text) or type(error).__name__
