"""Canonical locations: decide whether two raw paths may name the same place (S2, S3, S4, S24).

A canonical path is ``scheme://authority/key``. Aliases of a scheme become one scheme; the key is never decoded.
Where two spellings may or may not be the same place (an Azure account or a server that is left out, doubled
slashes and ``.`` elements in a key, which many stores and clients drop), the canonical form drops the doubtful part:
two different places may then compare as equal, which keeps a file too many and never deletes one too many (S11).
What is listed, deleted and reported is always the raw path; what is allowed is decided by the exact form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.authorities import SERVERS, canonical_authority, server_of, without_credentials
from nessie_gc_core.model.schemes import unlisted_scheme

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_ABSOLUTE = re.compile(r"(?<![A-Za-z0-9+.\-])[A-Za-z][A-Za-z0-9+.\-]*:/|(?<![^\s=,;|'\"\[({])/")
"""The beginning of an absolute path: a scheme, or a slash without path characters before it."""
_END = re.compile(r"[\s,;|'\"\])}]")
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
    "arrow_hdfs": "hdfs",
    "webhdfs": "hdfs",
    "sftp": "sftp",
    "ssh": "sftp",
    "ocilake": "oci",
    "tosfs": "tos",
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
    """Schemes that only the configuration defines, with the schemes that connectors know."""
    path_aliases: Mapping[str, str] = field(default_factory=dict)
    """Canonical prefix, with its slash, to the canonical prefix that is the same place (a link, a mount)."""

    def to_open(self, raw: str) -> str:
        """The raw path as connectors can open it, with a declared scheme replaced by the one it stands for.

        Credentials in it are left out: only those of the configuration are used (S28).
        """
        match = _SCHEME.match(raw)
        declared = self.declared_schemes.get(match[1].lower()) if match is not None else None
        known = raw if match is None or declared is None else f"{declared}{raw[match.end() - 1 :]}"
        return without_credentials(known)

    def canonical(self, raw: str) -> str:
        """The canonical form of a raw absolute path as it is written.

        ``..`` stays in keys of object stores (:meth:`climbed`), and aliases of paths are not followed (:meth:`place`).

        Raises:
            UnknownLocationError: the scheme is not known, the path is relative, or its authority names no bucket.
        """
        scheme, start, key = self._parts(raw)
        return start + (key if scheme in HADOOP_FILE_SYSTEMS else _object_key(key))

    def place(self, raw: str) -> str:
        """The canonical form of a raw path, with path aliases resolved.

        Raises:
            UnknownLocationError: as for :meth:`canonical`.
        """
        return self._end(self.canonical(raw))

    def exact(self, raw: str) -> str:
        """The canonical form with the key exactly as it is written: what an object store itself tells apart.

        Raises:
            UnknownLocationError: as for :meth:`canonical`.
        """
        _, start, key = self._parts(raw)
        return self._end(start + key)

    def _end(self, canonical: str) -> str:
        """Where the aliases of a path end."""
        passed = set[str]()
        while canonical not in passed:
            passed.add(canonical)
            canonical = self.aliased(canonical)
        return canonical

    def aliased(self, canonical: str) -> str:
        """With the longest alias of its prefix replaced; the path itself where it has none."""
        return next(self.all_aliased(canonical), canonical)

    def all_aliased(self, canonical: str) -> Iterator[str]:
        """With each alias of a prefix replaced, the longest first."""
        if self.path_aliases:
            folder = with_slash(canonical)
            for prefix in sorted((p for p in self.path_aliases if folder.startswith(p)), key=len, reverse=True):
                yield self.path_aliases[prefix] + canonical[len(prefix) :]

    def climbed(self, raw: str) -> str | None:
        """The canonical form with every ``..`` taken as a step up, as clients do; ``None`` if there is none.

        Raises:
            UnknownLocationError: as for :meth:`canonical`.
        """
        canonical = self.canonical(raw)
        if "/.." not in canonical:
            return None
        start, _, key = canonical.partition("://")
        authority, _, key = key.partition("/")
        elements: list[str] = []
        for element in key.split("/"):
            if element != "..":
                elements.append(element)
            elif elements:
                elements.pop()
        climbed = f"{start}://{authority}/{'/'.join(elements)}"
        return None if climbed == canonical else climbed

    def _parts(self, raw: str) -> tuple[str, str, str]:
        """Canonical scheme, everything up to the key, and the key: raw, but for file systems cleaned."""
        raw = without_credentials(raw)
        match = _SCHEME.match(raw)
        if match is None:
            if not raw.startswith("/"):
                raise UnknownLocationError(f"{raw!r} is not absolute and has no scheme")
            return "file", "file:///", _file_key(raw, raw)
        scheme = self.scheme_aliases.get(match[1].lower())
        if scheme is None:
            raise UnknownLocationError(
                f"the scheme of {raw!r} is unknown: no installed plugin lists it; {unlisted_scheme(match[1])}"
            )
        rest = raw[match.end() :]
        if scheme == "file":
            return "file", "file:///", _file_key(_local_path(raw, rest), raw)
        if scheme == "abfs":  # for Azure a backslash is a slash
            rest = rest.replace("\\", "/")
        authority, _, key = rest[2:].partition("/")
        try:
            authority = canonical_authority(scheme, self.authority_aliases.get(authority, authority))
        except ValueError as error:
            raise UnknownLocationError(f"{raw!r} {error}; correct it, or declare `authority_alias`") from None
        if not rest.startswith("//") or (not authority and scheme not in SERVERS):
            raise UnknownLocationError(f"{raw!r} has no authority after its scheme")
        return scheme, f"{scheme}://{authority}/", _file_key("/" + key, raw) if scheme == "hdfs" else key

    def left_out(self, raw: str) -> str:
        """What the canonical form leaves out of the authority: an Azure account, a server; empty: nothing.

        Two places that compare as equal for it keep each other's files; they do not allow each other's deletion.
        """
        scheme = self.canonical(raw).partition(":")[0]
        authority = without_credentials(raw).partition("://")[2].partition("/")[0]
        return server_of(scheme, self.authority_aliases.get(authority, authority))

    def canonical_prefix(self, raw: str) -> str:
        """The canonical form of a raw location, with a slash at its end (S2)."""
        return with_slash(self.canonical(raw))

    def place_prefix(self, raw: str) -> str:
        """:meth:`place` of a raw location, with a slash at its end."""
        return with_slash(self.place(raw))

    def place_prefix_or_none(self, raw: str) -> str | None:
        """The same; ``None`` if the location cannot be compared."""
        try:
            return self.place_prefix(raw)
        except UnknownLocationError:
            return None

    def exact_prefix(self, raw: str) -> str:
        """:meth:`exact` of a raw location, with a slash at its end."""
        return with_slash(self.exact(raw))


def with_slash(location: str) -> str:
    """A location that ends in a slash, so that a prefix test cannot mistake ``t2`` for ``t``."""
    return location if location.endswith("/") else location + "/"


def home_of_metadata(metadata_location: str) -> str:
    """The parent of the folder of a metadata file: the most likely base location of its content.

    For a file in a bucket's root, or one folder below it, the bucket.
    """
    folder = metadata_location.rpartition("/")[0]
    start, slashes, rest = folder.partition("://")
    if slashes and "/" not in rest:
        return f"{start}://{rest}/"
    parent = folder.rpartition("/")[0]
    return with_slash(parent) if "/" in folder else f"{folder}/"


def places_in(text: str) -> Iterator[str]:
    """Whatever in a text may be an absolute path or location, alone or among other words; each as long as it may be."""
    for match in _ABSOLUTE.finditer(text):
        rest = text[match.start() :]
        yield rest
        alone = _END.split(rest, maxsplit=1)[0]
        if alone != rest:
            yield alone


def scheme_of(raw: str) -> str:
    """The lower-cased scheme of a raw path; ``file`` for an absolute path without one."""
    match = _SCHEME.match(raw)
    return match[1].lower() if match else "file"


def store_of(raw: str) -> str:
    """The store of a raw location, as it is written: its scheme and bucket or container; one clock each."""
    scheme = scheme_of(raw)
    return "file://" if scheme == "file" else f"{scheme}://{raw.partition('://')[2].partition('/')[0]}"


def folders_of(path: str) -> Iterator[str]:
    """The folders around a path or key, each with a slash at its end; those of a prefix include itself."""
    return (path[: at + 1] for at, character in enumerate(path) if character == "/")


def depth(canonical: str) -> int:
    """How many path elements a canonical location has below its bucket (or below the root, for ``file``)."""
    key = canonical.partition("://")[2].partition("/")[2]
    return sum(1 for element in key.split("/") if element not in ("", "."))


def outermost(locations: Iterable[str]) -> list[str]:
    """The canonical locations that are not inside another one; nested and equal ones are merged into them (S1)."""
    kept: list[str] = []
    for location in sorted(set(locations)):
        if not (kept and location.startswith(kept[-1])):
            kept.append(location)
    return kept


def _local_path(raw: str, rest: str) -> str:
    if rest.startswith("//") and not rest.startswith("///"):
        host, _, path = rest[2:].partition("/")
        if host not in ("", "localhost"):
            raise UnknownLocationError(f"{raw!r} names a host; only local files have the scheme file")
        return "/" + path
    if not rest.startswith("/"):
        raise UnknownLocationError(f"{raw!r} is relative")
    return rest


def _object_key(key: str) -> str:
    """A key without doubled slashes and ``.`` elements."""
    if "//" not in key and "/." not in key and not key.startswith(("/", ".")):
        return key
    return _joined([element for element in key.split("/") if element not in ("", ".")], key)


def _joined(elements: list[str], path: str) -> str:
    return "/".join(elements) + ("/" if path.endswith("/") and elements else "")


def _file_key(path: str, raw: str) -> str:
    """The key of a path on a file system, where doubled slashes and ``.`` elements mean nothing."""
    if "//" not in path and "/." not in path:
        return path[1:]
    elements = [element for element in path.split("/") if element not in ("", ".")]
    if ".." in elements:
        raise UnknownLocationError(f"{raw!r} contains '..'")
    return _joined(elements, path)
