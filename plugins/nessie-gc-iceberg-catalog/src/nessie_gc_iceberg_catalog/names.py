"""Names of references and ids of commits, and back."""

from __future__ import annotations

import re
from collections.abc import Sequence

_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")
NO_SNAPSHOT = "-"
"""Stands for the snapshot of a table that has none."""


def reference_name(identifier: Sequence[str]) -> str:
    """The dotted name of a table or view; parts that hold a dot or a backtick are quoted with backticks."""
    return ".".join(_quoted(part) for part in identifier)


def identifier_of(name: str) -> tuple[str, ...] | None:
    """The identifier of a reference name; ``None`` if it is not one of our names."""
    parts: list[str] = []
    at = 0
    while True:
        match = _PART.match(name, at)
        if match is None:
            return None
        parts.append(match[1].replace("``", "`") if match[1] is not None else match[2])
        at = match.end()
        if at == len(name):
            return tuple(parts)
        if name[at] != ".":
            return None
        at += 1


def commit_id(metadata_location: str, snapshot_id: int | None) -> str:
    """The id of one state of a table: its metadata file, and one of the snapshots that this lists."""
    return f"{metadata_location}#{NO_SNAPSHOT if snapshot_id is None else snapshot_id}"


def parse_commit_id(commit: str) -> tuple[str, int | None] | None:
    """The metadata location and the snapshot id of a commit id; ``None`` if it is not one of our ids."""
    location, hash_sign, snapshot = commit.rpartition("#")
    if not hash_sign or not location:
        return None
    if snapshot == NO_SNAPSHOT:
        return location, None
    return (location, int(snapshot)) if re.fullmatch(r"-?\d+", snapshot) else None


def _quoted(part: str) -> str:
    return part if part and "." not in part and "`" not in part else f"`{part.replace('`', '``')}`"
