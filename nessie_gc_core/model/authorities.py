"""Authorities of locations: which bucket one names, whatever credentials and port are written around it (S3, S28).

Hadoop up to 3.1 writes ``s3a://KEY:SECRET@bucket/key`` into metadata. Credentials name no other place. They are taken
out of every path and location when it is read, so that they are never used, stored, reported or logged.
"""

from __future__ import annotations

import re

from nessie_gc_core.model.hosts import is_azure

SERVERS = frozenset({"hdfs", "sftp"})
"""Canonical schemes whose authority is a server: it may be left out, and has many names."""
_CANONICAL_BUCKETS = frozenset({"s3", "gs", "oss", "hf", "tos"})
"""Canonical schemes whose authority is the name of a bucket, which contains neither ``@`` nor ``:``."""
_BUCKETS = _CANONICAL_BUCKETS | {"s3a", "s3n", "gcs", "tosfs"}
_OF_ACCOUNTS = frozenset({"abfs", "abfss", "wasb", "wasbs", "oci", "ocilake"})
"""Schemes with ``container@account`` or ``bucket@namespace``: one ``@`` belongs to the name."""
_DEFAULT_PORTS = frozenset({"", "80", "443"})
_HIDDEN = "***"
"""Stands for what may be a password, where nobody can tell where it ends."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)://([^/\\]*[@:][^/\\]*)")


def without_credentials(raw: str) -> str:
    """A raw path or location without the credentials in its authority, and without the default port of a bucket.

    A user without a password stays where it may be a part of the name. If a password contains a slash, nobody can tell
    where it ends: then what may belong to it is hidden, and the result cannot be compared with anything.
    """
    match = _ADDRESS.match(raw)
    if match is None:
        return raw
    scheme, authority, rest = match[1].lower(), match[2], raw[match.end() :]
    info, at, host = authority.rpartition("@")
    if not at and "@" in rest and not _may_be_port(scheme, host.partition(":")[2]):
        return f"{match[1]}://{_HIDDEN}@{rest.rpartition('@')[2]}"
    if scheme in _BUCKETS:
        bucket, _, port = host.partition(":")
        return f"{match[1]}://{bucket if port in _DEFAULT_PORTS else host}{rest}"
    if scheme in _OF_ACCOUNTS and at:
        info, at, container = info.rpartition("@")
        host = f"{container if at or ':' not in container else _HIDDEN}@{host}"
    elif at:
        host = f"{info.partition(':')[0]}@{host}"
    return f"{match[1]}://{host}{rest}"


def _may_be_port(scheme: str, text: str) -> bool:
    return text in _DEFAULT_PORTS if scheme in _BUCKETS | _OF_ACCOUNTS else not text or text.isdecimal()


def canonical_authority(scheme: str, authority: str) -> str:
    """What an authority without credentials is compared by: a bucket or container; of a server nothing.

    Args:
        scheme: canonical; of one that is not known here, the authority is compared as it is.
        authority: as :func:`without_credentials` leaves it.

    Raises:
        ValueError: it does not say which bucket is meant; the message says why.
    """
    if authority.startswith(_HIDDEN):
        raise ValueError("contains what may be a password with a slash in it")
    if scheme in SERVERS:
        return ""
    if scheme == "abfs":
        if is_azure(authority):
            raise ValueError("names an account without a container")
        return _name(authority.partition("@")[0])
    if scheme in _CANONICAL_BUCKETS:
        return _name(authority.rpartition("@")[2])
    return _name(authority) if scheme == "oci" else authority


def _name(text: str) -> str:
    name, _, port = text.partition(":")
    if port not in _DEFAULT_PORTS:
        raise ValueError("names a port or host instead of a bucket")
    return name


def server_of(scheme: str, authority: str) -> str:
    """What :func:`canonical_authority` leaves out that may make two places of one: an Azure account, a server."""
    if scheme == "abfs":
        return authority.partition("@")[2].partition(".")[0].partition(":")[0].lower()
    return authority.lower() if scheme in SERVERS else ""
