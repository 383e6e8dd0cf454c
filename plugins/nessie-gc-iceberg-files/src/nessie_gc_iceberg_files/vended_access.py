"""With what a place is reached: the configured properties, with the credentials that a repository gives for it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from nessie_gc_core.connectors import CredentialSource
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.credentials import StorageCredential
from nessie_gc_iceberg_files.fsspec_options import is_through_fsspec
from nessie_gc_iceberg_files.places import S3_SCHEMES, Place
from nessie_gc_iceberg_files.storage_credentials import FAMILIES, without_credentials

_GCS_TOKEN = "gcs.oauth2.token"
_S3_CREDENTIALS = ("s3.access-key-id", "s3.secret-access-key", "s3.session-token")


@dataclass(frozen=True, slots=True)
class Renewal:
    """Credentials that a client asks for again; equal to all of the same scope."""

    scope: str
    source: CredentialSource = field(compare=False, repr=False)
    location: str = field(compare=False)

    def current(self) -> StorageCredential | None:
        """Those that are valid now."""
        return self.source.credential(self.location)

    def renewed(self, rejected: StorageCredential) -> StorageCredential | None:
        """Others, after the store rejected some."""
        return self.source.renewed(self.location, rejected)


@dataclass(frozen=True, slots=True)
class Access:
    """With what a place is reached."""

    properties: Mapping[str, str] = field(repr=False)
    renewal: Renewal | None = None
    """Credentials that are not in the properties; their client asks for them with each request."""
    scope: str = ""
    """What the credentials in the properties are for, if a repository gave them."""

    @property
    def identity(self) -> tuple[frozenset[tuple[str, str]], str]:
        """The same for all that may share a client."""
        return frozenset(self.properties.items()), self.scope if self.renewal is None else self.renewal.scope


def vended_access(place: Place, configured: Mapping[str, str], source: CredentialSource | None) -> Access:
    """The configured properties; credentials that a source has for the place replace those of its kind of store.

    Raises:
        NessieGcError: the source does not know, or what it has is not a credential.
    """
    credential = _asked(place, source)
    if source is None or credential is None:
        return Access(configured)
    made = _with(credential, place, configured)
    if place.scheme not in S3_SCHEMES or is_through_fsspec(place.scheme, configured):
        return Access(made, scope=credential.scope)
    rest = {name: value for name, value in made.items() if name not in _S3_CREDENTIALS}
    return Access(rest, Renewal(credential.scope, source, _raw(place)))


def vended_properties(
    place: Place, configured: Mapping[str, str], source: CredentialSource | None
) -> Mapping[str, str]:
    """The same as properties alone, for clients that ask for nothing again.

    Raises:
        NessieGcError: as for :func:`vended_access`.
    """
    credential = _asked(place, source)
    return configured if credential is None else _with(credential, place, configured)


def _asked(place: Place, source: CredentialSource | None) -> StorageCredential | None:
    return None if source is None or place.scheme == "file" else source.credential(_raw(place))


def _raw(place: Place) -> str:
    return f"{place.scheme}://{place.authority}/{place.key}"


def _with(credential: StorageCredential, place: Place, configured: Mapping[str, str]) -> dict[str, str]:
    if os.path.exists(credential.properties.get(_GCS_TOKEN, "")):  # noqa: PTH110 - as gcsfs asks, which would read it
        raise ConfigurationError("the token that the catalog gives is the name of a file, and is not used")
    family = next((name for name, schemes in FAMILIES.items() if place.scheme in schemes), "")
    return {**without_credentials(family, configured), **credential.properties}
