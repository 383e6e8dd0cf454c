"""Canonical locations: when two raw paths name the same place (S2, S3, S4).

A canonical path is ``scheme://authority/key``. Aliases of a scheme become one scheme; the key stays raw.
Where two spellings of an authority may or may not be the same store (an Azure account that is left out, an
HDFS name node that is left out), the canonical form drops the doubtful part: two different places may then
compare as equal, which keeps a file too many and never deletes one too many (S11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nessie_gc_core.errors import UnknownLocationError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
SCHEME_ALIASES: Mapping[str, str] = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "s3n": "s3",
    "gs": "gs",
    "gcs": "gs",
    "abfs": "abfs",
    "abfss": "abfs",
    "wasb": "abfs",
    "wasbs": "abfs",
    "hdfs": "hdfs",
}
"""Scheme to canonical scheme; more come from configuration and from installed listers."""
HADOOP_FILE_SYSTEMS = frozenset({"file", "hdfs"})
"""Canonical schemes of file systems: directories exist, doubled slashes mean one, ``.crc`` sidecars appear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationRules:
    """How raw paths become canonical ones. Travels to executors."""

    scheme_aliases: Mapping[str, str] = field(default_factory=lambda: dict(SCHEME_ALIASES))
    authority_aliases: Mapping[str, str] = field(default_factory=dict)
    """For instance an S3 access point to its bucket."""

    declared_schemes: Mapping[str, str] = field(default_factory=dict)
    """Schemes that only the configuration knows, and what connectors know them as."""

    def to_open(self, raw: str) -> str:
        """The raw path as connectors can open it: a declared scheme is written as what it is the same as."""
        match = _SCHEME.match(raw)
        declared = self.declared_schemes.get(match[1].lower()) if match is not None else None
        return raw if match is None or declared is None else f"{declared}{raw[match.end() - 1 :]}"

    def canonical(self, raw: str) -> str:
        """The canonical form of a raw absolute path.

        Raises:
            UnknownLocationError: the scheme is not known, or the path is relative.
        """
        match = _SCHEME.match(raw)
        if match is None:
            if not raw.startswith("/"):
                raise UnknownLocationError(f"{raw!r} is neither absolute nor has it a scheme")
            return "file:///" + _file_key(raw, raw)
        scheme = self.scheme_aliases.get(match[1].lower())
        if scheme is None:
            raise UnknownLocationError(
                f"the scheme of {raw!r} is not known; say what it is with --scheme-alias {match[1]}=SCHEME"
            )
        rest = raw[match.end() :]
        if scheme == "file":
            return "file:///" + _file_key(_local_path(raw, rest), raw)
        if not rest.startswith("//"):
            raise UnknownLocationError(f"{raw!r} has no authority after its scheme")
        authority, slash, key = rest[2:].partition("/")
        authority = _canonical_authority(scheme, self.authority_aliases.get(authority, authority))
        if scheme == "hdfs":
            key = _file_key("/" + key, raw)
        return f"{scheme}://{authority}/{key}" if slash or key else f"{scheme}://{authority}/"

    def left_out(self, raw: str) -> str:
        """What the canonical form leaves out of the authority: an Azure account, an HDFS name node; empty: nothing.

        Two places that compare as equal for it keep each other's files; they do not allow each other's deletion.
        """
        scheme = self.canonical(raw).partition(":")[0]
        authority = raw.partition("://")[2].partition("/")[0]
        authority = self.authority_aliases.get(authority, authority)
        if scheme == "abfs":
            return authority.partition("@")[2].partition(".")[0].lower()
        return authority.lower() if scheme == "hdfs" else ""

    def canonical_prefix(self, raw: str) -> str:
        """The canonical form of a raw location, with a slash at its end (S2)."""
        return with_slash(self.canonical(raw))


def with_slash(location: str) -> str:
    """A location that ends in a slash, so that a prefix test cannot mistake ``t2`` for ``t``."""
    return location if location.endswith("/") else location + "/"


def scheme_of(raw: str) -> str:
    """The lower-cased scheme of a raw path; ``file`` for an absolute path without one."""
    match = _SCHEME.match(raw)
    return match[1].lower() if match else "file"


def depth(canonical: str) -> int:
    """How many path elements a canonical location has below its bucket (or below the root, for ``file``)."""
    key = canonical.partition("://")[2].partition("/")[2]
    return sum(1 for element in key.split("/") if element)


def outermost(locations: Iterable[str]) -> list[str]:
    """The canonical locations that lie in no other one; nested and equal ones are merged into them (S1)."""
    kept: list[str] = []
    for location in sorted(set(locations)):
        if not (kept and location.startswith(kept[-1])):
            kept.append(location)
    return kept


def _canonical_authority(scheme: str, authority: str) -> str:
    if scheme == "abfs":
        return authority.partition("@")[0]
    return "" if scheme == "hdfs" else authority


def _local_path(raw: str, rest: str) -> str:
    if rest.startswith("//") and not rest.startswith("///"):
        host, _, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise UnknownLocationError(f"{raw!r} names a host; only local files have the scheme file")
        return "/" + path
    if not rest.startswith("/"):
        raise UnknownLocationError(f"{raw!r} is relative")
    return rest


def _file_key(path: str, raw: str) -> str:
    """The key of a path on a file system, where doubled slashes and ``.`` elements mean nothing."""
    if "//" not in path and "/." not in path:
        return path[1:]
    elements = [element for element in path.split("/") if element not in ("", ".")]
    if ".." in elements:
        raise UnknownLocationError(f"{raw!r} has '..' in it")
    return "/".join(elements) + ("/" if path.endswith("/") and elements else "")
