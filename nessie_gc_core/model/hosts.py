"""Which hosts requests may go to: those of the configuration and of the clouds, never one that only data names (S28).

Locations come from metadata that any committer can write. A client of a store sends credentials to the host that a
location names, so the host is checked before a client is made, and before a FileIO sees the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from nessie_gc_core.model.parsing import parsed_json

TRUSTED_HOSTS = "nessie-gc.trusted-hosts"
"""The property that names more hosts (``host`` or ``host:port``, with commas between) that locations may name."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_BUCKET_SCHEMES = frozenset({"s3", "s3a", "s3n", "gs", "gcs", "oss", "hf", "tos", "tosfs"})
"""Schemes whose authority is the name of a bucket: the host is the cloud's, or the endpoint of the configuration."""
_AZURE_SCHEMES = frozenset({"abfs", "abfss", "wasb", "wasbs"})
_BUCKET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}", re.ASCII)
_CONTAINER = re.compile(r"[A-Za-z0-9$_][A-Za-z0-9$ ._-]{0,254}", re.ASCII)
_AZURE_HOST = re.compile(
    r"[a-z0-9-]{3,63}(\.privatelink|\.z[0-9]{1,2})?\.(blob|dfs)\."
    r"(core\.windows\.net|core\.chinacloudapi\.cn|core\.usgovcloudapi\.net|core\.cloudapi\.de"
    r"|storage\.azure\.net|fabric\.microsoft\.com)",
    re.ASCII,
)
"""The accounts of all Azure clouds, those with DNS zones, and OneLake: names that only Azure itself gives out."""
_OCI_SCHEMES = frozenset({"oci", "ocilake"})
_OCI_BUCKET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,254}(@[A-Za-z0-9_-]{1,254})?", re.ASCII)
"""``bucket@namespace``: the namespace is a tenancy's, and no host."""
ARGUMENTS = "fsspec."
"""With a scheme behind it the property that has the arguments of fsspec's file system, as a JSON object."""
_CONNECTION, _SAS = "adls.connection-string", "adls.sas-token"
_ACCOUNT_NAMES = ("adls.account-name", "adls.auth.shared-key.account.name")


def host_refusal(raw: str, properties: Mapping[str, str]) -> str | None:
    """Why no request may be sent to the host of a raw path, in one line; ``None``: it may.

    Args:
        raw: A path or location as metadata has it.
        properties: Iceberg's FileIO properties, as configured.
    """
    match = _SCHEME.match(raw)
    if match is None or match[1].lower() == "file":
        return None
    scheme, rest = match[1].lower(), raw[match.end() :]
    authority = rest[2:].partition("/")[0] if rest.startswith("//") else ""
    if scheme in _BUCKET_SCHEMES:
        return None if _is_name(_BUCKET, authority) else f"{_shown(authority)!r} is not a valid bucket name"
    if scheme in _OCI_SCHEMES:
        return None if _is_name(_OCI_BUCKET, authority) else f"{_shown(authority)!r} is not a valid bucket name"
    if scheme in _AZURE_SCHEMES:
        return _azure_refusal(authority, properties)
    if any(character in raw for character in "\t\r\n"):  # URL parsers drop these, and then see another host
        return "it contains a line break or a tab"
    if not authority or authority.lower() in {*_named_hosts(properties), *_hosts_of_arguments(scheme, properties)}:
        return None
    return _not_named(authority.rpartition("@")[2])


def _shown(authority: str) -> str:
    """An authority without what may be a password, or the beginning of one with a slash in it."""
    name, colon, _ = authority.partition(":")
    _, at, host = authority.rpartition("@")
    return f"{name}:***{at}{host if at else ''}" if colon else name


def is_azure(host: str) -> bool:
    """Whether a host, without a port, has a name that only Azure itself gives out."""
    return _AZURE_HOST.fullmatch(host.lower()) is not None


def _azure_refusal(authority: str, properties: Mapping[str, str]) -> str | None:
    container, at, host = authority.partition("@")
    if not _is_name(_CONTAINER, container):
        return f"{_shown(container)!r} is not a valid container name"
    host = host.lower()
    if not at or host in set(_named_hosts(properties)):
        return None
    if is_azure(host):
        return _token_refusal(host.partition(".")[0], properties)
    if _has_endpoint(properties) and host in set(_account_names(properties)):
        return None
    return _not_named(host)


def _token_refusal(account: str, properties: Mapping[str, str]) -> str | None:
    """A token is good for one account and shown to whoever has the account that it is sent to."""
    if _SAS not in properties or f"{_SAS}.{account}" in properties:
        return None
    if _has_endpoint(properties) or set(_account_names(properties)):
        return None
    return f"{_SAS} does not name an account: set adls.account-name, or use {_SAS}.<account> instead"


def _is_name(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None and ".." not in text


def _not_named(host: str) -> str:
    return (
        f"{host!r} is neither a host of the cloud nor in the configuration, so no credentials are sent there; to "
        f"trust it, add it to the property {TRUSTED_HOSTS}"
    )


def _named_hosts(properties: Mapping[str, str]) -> Iterator[str]:
    """Every host that the configuration names, lower case, with its port where it is given one."""
    yield from (host.strip().lower() for host in properties.get(TRUSTED_HOSTS, "").split(",") if host.strip())
    if host := properties.get("hdfs.host", "").lower():
        yield host
        yield f"{host}:{properties.get('hdfs.port', '8020')}"
    if host := properties.get("adls.account-host", "").lower():
        yield host
    for name, value in properties.items():
        for kind in (_SAS, _CONNECTION):
            if name.startswith(f"{kind}.") and "." in (owner := name[len(kind) + 1 :]):
                yield owner.lower()
        if name == _CONNECTION or name.startswith(f"{_CONNECTION}."):
            yield from _hosts_of(_parts(value))


def _hosts_of_arguments(scheme: str, properties: Mapping[str, str]) -> Iterator[str]:
    """The host that the arguments of fsspec's file system name, for this scheme and for no other."""
    try:
        arguments = parsed_json(properties.get(ARGUMENTS + scheme, "{}"))
    except ValueError:
        return  # whoever opens the file system says so
    if isinstance(arguments, dict) and isinstance(host := arguments.get("host"), str) and host:
        yield host.lower()
        if "port" in arguments:
            yield f"{host}:{arguments['port']}".lower()


def _hosts_of(connection: Mapping[str, str]) -> Iterator[str]:
    """The hosts that a connection string names."""
    for endpoint in ("blobendpoint", "dfsendpoint"):
        yield urlsplit(connection.get(endpoint, "")).netloc.lower()
    if "accountname" in connection and "endpointsuffix" in connection:
        for service in ("blob", "dfs"):
            yield f"{connection['accountname']}.{service}.{connection['endpointsuffix']}".lower()


def _has_endpoint(properties: Mapping[str, str]) -> bool:
    """Whether requests always go to a configured host, whatever a location names."""
    return bool(properties.get("adls.account-host") or properties.get(_CONNECTION))


def _account_names(properties: Mapping[str, str]) -> Iterator[str]:
    yield from (properties[name].lower() for name in _ACCOUNT_NAMES if properties.get(name))
    if name := _parts(properties.get(_CONNECTION, "")).get("accountname"):
        yield name.lower()


def _parts(connection_string: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in connection_string.split(";"))
    return {name.strip().lower(): value.strip() for name, _, value in pairs}
