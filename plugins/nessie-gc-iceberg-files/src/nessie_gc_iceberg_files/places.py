"""Raw paths taken apart, without decoding anything (S4)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
S3_SCHEMES = frozenset({"s3", "s3a", "s3n"})
GCS_SCHEMES = frozenset({"gs", "gcs"})
ADLS_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})
SCHEMES = frozenset({"file"}) | S3_SCHEMES | GCS_SCHEMES | ADLS_SCHEMES
"""All schemes that this plugin reads, lists and deletes."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a raw path points: a store, and a raw key in it."""

    scheme: str
    """Lower case; ``file`` for an absolute path without a scheme."""
    authority: str
    """Bucket, or ``container[@account host]``; empty for local files."""
    key: str
    """Raw: what follows the authority and one slash. For local files the absolute path, with its slash."""


def place_of(raw: str) -> Place:
    """Takes a raw path apart.

    Raises:
        ValueError: it is relative, or has no authority where one of our schemes needs it.
    """
    match = _SCHEME.match(raw)
    if match is None:
        if not raw.startswith("/"):
            raise ValueError("it is not absolute and has no scheme")
        return Place("file", "", raw)
    scheme, rest = match[1].lower(), raw[match.end() :]
    if scheme == "file":
        return Place("file", "", _local_path(rest))
    authority, _, key = rest.removeprefix("//").partition("/")
    if scheme in SCHEMES and (not rest.startswith("//") or not authority):
        raise ValueError("it has no bucket or container after its scheme")
    return Place(scheme, authority, key)


def _local_path(rest: str) -> str:
    if rest.startswith("//") and not rest.startswith("///"):
        host, _, path = rest[2:].partition("/")
        if host != "localhost":
            raise ValueError("it names a host; only local files have the scheme file")
        return "/" + path
    if not rest.startswith("/"):
        raise ValueError("it is relative")
    return rest if not rest.startswith("///") else rest[2:]
