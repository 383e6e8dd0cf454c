"""Other credentials for some places: a list in the form of the REST catalog's ``storage-credentials``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.known_names import doubtful_names
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_iceberg_files.places import ADLS_SCHEMES, GCS_SCHEMES, S3_SCHEMES, Place, place_of
from nessie_gc_iceberg_files.property_names import FILE_IO_NAMES

STORAGE_CREDENTIALS = "nessie-gc.storage-credentials"
"""The property with the list, as JSON."""
FAMILIES: Mapping[str, frozenset[str]] = {"s3": S3_SCHEMES, "gcs": GCS_SCHEMES, "adls": ADLS_SCHEMES}
"""Kinds of stores, as properties begin, with their schemes."""
_CREDENTIALS = {
    "s3": (
        "s3.access-key-id",
        "s3.secret-access-key",
        "s3.session-token",
        "s3.profile-name",
        "s3.anonymous",
        "client.access-key-id",
        "client.secret-access-key",
        "client.session-token",
        "client.profile-name",
    ),
    "gcs": ("gcs.oauth2.token",),
    "adls": (
        "adls.account-key",
        "adls.connection-string",
        "adls.sas-token",
        "adls.client-id",
        "adls.client-secret",
        "adls.tenant-id",
        "adls.credential",
        "adls.token",
    ),
}
"""What credentials consist of, by store; what begins so belongs to them too."""


class _Entry(NamedTuple):
    family: str
    authority: str
    prefix: str
    """A key that is empty or ends in a slash."""
    config: Mapping[str, str]

    def has(self, place: Place) -> bool:
        """Whether a place is below the prefix."""
        is_there = place.scheme in FAMILIES[self.family] and place.authority == self.authority
        return is_there and place.key.startswith(self.prefix)


class StorageCredentials:
    """The properties of each place: those of all, with what the longest prefix above it has instead."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """Reads the list.

        Raises:
            ConfigurationError: it is not a list of that form.
        """
        self._properties = dict(properties)
        text = self._properties.pop(STORAGE_CREDENTIALS, None)
        entries = [] if text is None else [*_read(text)]
        self._entries = sorted(entries, key=lambda entry: len(entry.prefix), reverse=True)

    def at(self, place: Place) -> Mapping[str, str]:
        """The properties with which a place is reached."""
        entry = next((entry for entry in self._entries if entry.has(place)), None)
        if entry is None:
            return self._properties
        old = self._properties
        if any(_is_credential(entry.family, name) for name in entry.config):
            old = without_credentials(entry.family, old)
        return {**old, **entry.config}


def without_credentials(family: str, properties: Mapping[str, str]) -> dict[str, str]:
    """Properties without the credentials of one kind of store: a token would not fit to other keys."""
    return {name: value for name, value in properties.items() if not _is_credential(family, name)}


def _is_credential(family: str, name: str) -> bool:
    return name.startswith(_CREDENTIALS.get(family, ()))


def _read(text: str) -> Iterator[_Entry]:
    try:
        given = parsed_json(text)
    except ValueError as error:
        raise _wrong("it is not valid JSON") from error
    if not isinstance(given, list):
        raise _wrong("it is not a list")
    for number, each in enumerate(given, 1):
        if not isinstance(each, dict) or each.keys() != {"prefix", "config"}:
            raise _wrong(f"entry {number} does not consist of 'prefix' and 'config'")
        yield _entry(number, each["prefix"], each["config"])


def _entry(number: int, prefix: Any, config: Any) -> _Entry:
    if not isinstance(config, dict) or not all(isinstance(value, str) for value in config.values()):
        raise _wrong(f"the config of entry {number} is not a mapping of names to texts")
    try:
        place = place_of(str(prefix))
    except ValueError as error:
        raise _wrong(f"the prefix of entry {number}, {prefix!r}, is not a location: {error}") from error
    family = next((name for name, schemes in FAMILIES.items() if place.scheme in schemes), None)
    if family is None:
        raise _wrong(f"the prefix of entry {number}, {prefix!r}, is not on S3, Google Cloud Storage or Azure")
    names = (f"{family}.", "client.") if family == "s3" else (f"{family}.",)
    other = sorted(name for name in config if not name.startswith(names))
    if other:
        raise _wrong(f"the config of entry {number} has {other[0]!r}, which is not a property of its store")
    for doubt in doubtful_names(config, [FILE_IO_NAMES]):
        if doubt.is_error:
            raise _wrong(f"the config of entry {number} has an {doubt}")
    key = place.key if not place.key or place.key.endswith("/") else f"{place.key}/"
    return _Entry(family, place.authority, key, config)


def _wrong(reason: str) -> ConfigurationError:
    example = '[{"prefix": "s3://bucket/folder/", "config": {"s3.access-key-id": "…", "s3.secret-access-key": "…"}}]'
    return ConfigurationError(f"the property {STORAGE_CREDENTIALS!r} is not like {example}: {reason}")
