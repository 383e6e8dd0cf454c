"""With which properties a catalog's files are read: ours, and what the catalog's answers may add to them (S28).

A REST catalog can name an endpoint and credentials for it. Its endpoint gets the credentials of the same answer, and
never ours: those go to hosts that the configuration names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from nessie_gc_core.errors import ConfigurationError

_FAMILIES: Mapping[str, tuple[str, ...]] = {
    "s3": ("s3.", "client."),
    "gcs": ("gcs.",),
    "adls": ("adls.",),
    "hdfs": ("hdfs.",),
    "hf": ("hf.",),
}
"""The properties of one store begin alike."""
_HOSTS = re.compile(
    r"s3\.(endpoint|proxy-uri|signer\.uri)|gcs\.(service\.host|endpoint|session-kwargs)|hdfs\.(host|port)|hf\.endpoint"
    r"|adls\.(account-host|connection-string(\..*)?|(blob|dfs)-storage-(authority|scheme))"
)
"""Properties that say where requests go."""
_SIGNER = "s3.signer.uri"
_CLOUDS = re.compile(
    r"https://(s3(-fips)?(\.dualstack)?(\.[a-z]{2}(-[a-z]+)+-[0-9])?\.amazonaws\.com(\.cn)?|storage\.googleapis\.com)"
)
"""Endpoints that the clouds themselves have."""


def storage_properties(configured: Mapping[str, Any], said: Mapping[str, str]) -> dict[str, Any]:
    """Our properties with those of a catalog's answer.

    Args:
        configured: What the configuration says.
        said: What the catalog says; of it only properties of stores count, never which code reads.

    Raises:
        ConfigurationError: the answer names a host that the configuration does not, without credentials for it.
    """
    made = dict(configured)
    for family, prefixes in _FAMILIES.items():
        mine = {name: value for name, value in said.items() if name.startswith(prefixes)}
        foreign = sorted(name for name, value in mine.items() if _is_foreign(name, value, configured))
        if foreign:
            if _SIGNER in foreign or not _has_credentials(family, frozenset(mine)):
                raise ConfigurationError(_refusal(foreign[0], mine[foreign[0]]))
            made = {name: value for name, value in made.items() if not name.startswith(prefixes)}
        made.update(mine)
    return made


def _has_credentials(family: str, names: frozenset[str]) -> bool:
    """Whether some properties are all that a client needs, so that it looks for no others in its environment."""
    if family == "s3":
        return any({f"{prefix}.access-key-id", f"{prefix}.secret-access-key"} <= names for prefix in ("s3", "client"))
    if family == "adls":
        return any(name.startswith(("adls.sas-token", "adls.connection-string")) for name in names)
    return family == "gcs" and "gcs.oauth2.token" in names


def _is_foreign(name: str, value: str, configured: Mapping[str, Any]) -> bool:
    """Whether a property leads somewhere that neither the configuration nor a cloud names."""
    if not _HOSTS.fullmatch(name) or _same(value, str(configured.get(name, ""))):
        return False
    if name == _SIGNER:
        return urlsplit(value)[:2] != urlsplit(str(configured.get("uri", "")))[:2]
    return _CLOUDS.fullmatch(value.rstrip("/")) is None


def _same(one: str, other: str) -> bool:
    return one.rstrip("/") == other.rstrip("/")


def _refusal(name: str, value: str) -> str:
    shown = "another host" if "connection-string" in name else repr(re.sub(r"(?<=//)[^/]*@", "", value))
    return (
        f"the catalog reports {name} = {shown} without credentials, and configured credentials go only to configured "
        f"hosts; set {name} to allow it"
    )
