"""Temporary credentials for storage, as a server gives them: data, of which only credentials are taken over (S28)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from nessie_gc_core.model.hosts import is_azure
from nessie_gc_core.model.locations import SCHEME_ALIASES

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TEXT = re.compile(r"[\x21-\x7e]+")
"""What a header can carry as it is."""
_REGION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""A region becomes a part of a host name."""
_TOKEN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._~+=-]{19,}", re.ASCII)
"""A token of Google; clients would take a path for the name of a file, and a word for a way to sign in."""
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_SAS = "adls.sas-token."
_S3 = {
    "s3.access-key-id": ("s3.access-key-id", "client.access-key-id"),
    "s3.secret-access-key": ("s3.secret-access-key", "client.secret-access-key"),
    "s3.session-token": ("s3.session-token", "client.session-token"),
}
_REGIONS = ("s3.region", "client.region")
_EXPIRIES: Mapping[str, tuple[str, ...]] = {
    "s3": ("s3.session-token-expires-at-ms", "client.session-token-expires-at-ms", "expiration-time"),
    "gs": ("gcs.oauth2.token-expires-at", "gcs.oauth2.token-expires-at-ms", "expiration-time"),
    "abfs": ("expiration-time",),
}
_SAS_EXPIRY = "adls.sas-token-expires-at-ms."


class CredentialUse(StrEnum):
    """What the credentials of a repository are used for."""

    READ = "read"
    """To read metadata and manifests."""
    COLLECT = "collect"
    """To list files, and to delete or move them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialPlace:
    """A location for which a repository gives credentials."""

    location: str
    """Raw; everything below it belongs to the owner, unless it is below a longer location of another one."""
    owner: str
    """By what name the repository knows whose credentials these are, such as that of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageCredential:
    """Credentials for the files below a prefix."""

    prefix: str
    """A raw location, or a scheme alone for every location of that scheme."""
    properties: Mapping[str, str] = field(repr=False)
    """Iceberg FileIO properties. Only those count that are credentials, or a region."""
    expires: datetime | None = None
    """When they expire, UTC; ``None`` if unknown."""
    scope: str = ""
    """What they are for; the same for those that replace them. The engine sets it."""

    @classmethod
    def parse(cls, prefix: str | None, config: Mapping[str, str]) -> list[StorageCredential]:
        """The credentials in a server's answer, one for each kind of store; nothing else of it is taken over (S28).

        Args:
            prefix: for which locations they are; ``None``: for all of their kind of store.
            config: Iceberg FileIO properties, as the server names them.
        """
        found = {"s3": _s3(config), "gs": _gcs(config), "abfs": _adls(config)}
        made = (
            cls(prefix=scheme if prefix is None else prefix, properties=taken, expires=_expiry(scheme, config))
            for scheme, taken in found.items()
            if taken
        )
        return [each for each in made if prefix is None or scheme_alone(each.prefix) in (None, each.scheme)]

    @property
    def scheme(self) -> str:
        """The canonical scheme of its kind of store."""
        first = next(iter(self.properties), "")
        return {"s3": "s3", "gcs": "gs", "adls": "abfs"}.get(first.partition(".")[0], "")

    def covers(self, location: str) -> bool:
        """Whether they are for a raw path or location; a prefix ends at a slash (S2)."""
        scheme, rest = _parted(location)
        if scheme != self.scheme:
            return False
        if scheme_alone(self.prefix) is not None:
            return scheme_alone(self.prefix) == scheme
        mine, prefix = _parted(self.prefix)
        return mine == scheme and f"{rest}/".startswith(prefix if prefix.endswith("/") else f"{prefix}/")


def scheme_alone(prefix: str) -> str | None:
    """The canonical scheme that a prefix consists of; ``None`` if it names more than that."""
    scheme, _, rest = prefix.partition(":")
    return None if rest.strip("/") else SCHEME_ALIASES.get(scheme.lower(), scheme.lower())


def spelled_alike(location: str) -> str:
    """A raw location in the spelling that all schemes of its kind of store share, with a slash at its end."""
    scheme, rest = _parted(location)
    return f"{scheme}:{rest}" if rest.endswith("/") else f"{scheme}:{rest}/"


def _parted(raw: str) -> tuple[str, str]:
    scheme, _, rest = raw.partition(":")
    return SCHEME_ALIASES.get(scheme.lower(), scheme.lower()), rest


def _s3(config: Mapping[str, str]) -> dict[str, str]:
    """Both keys, or nothing: a half would be completed by someone else's."""
    found = {ours: next((config[name] for name in names if config.get(name)), "") for ours, names in _S3.items()}
    taken = {name: value for name, value in found.items() if value}
    if not {"s3.access-key-id", "s3.secret-access-key"} <= taken.keys() or not all(
        map(_TEXT.fullmatch, taken.values())
    ):
        return {}
    region = next((config[name] for name in _REGIONS if _REGION.fullmatch(config.get(name, ""))), None)
    return taken if region is None else {**taken, "s3.region": region}


def _gcs(config: Mapping[str, str]) -> dict[str, str]:
    token = config.get("gcs.oauth2.token", "")
    return {"gcs.oauth2.token": token} if _TOKEN.fullmatch(token) else {}


def _adls(config: Mapping[str, str]) -> dict[str, str]:
    """Tokens of accounts of Azure: a token under the name of another host would make that host a known one."""
    return {
        name: value
        for name, value in config.items()
        if name.startswith(_SAS) and _TEXT.fullmatch(value) and _is_account(name[len(_SAS) :])
    }


def _is_account(owner: str) -> bool:
    return _ACCOUNT.fullmatch(owner) is not None or is_azure(owner)


def _expiry(scheme: str, config: Mapping[str, str]) -> datetime | None:
    """The earliest time that is named."""
    times = [*_times(config.get(name) for name in _EXPIRIES[scheme])]
    if scheme == "abfs":
        times += _times(value for name, value in config.items() if name.startswith(_SAS_EXPIRY))
    return min(times, default=None)


def _times(texts: Iterator[str | None]) -> Iterator[datetime]:
    for text in texts:
        if text and text.isascii() and text.isdigit() and len(text) <= 14:
            yield _EPOCH + timedelta(milliseconds=int(text))
