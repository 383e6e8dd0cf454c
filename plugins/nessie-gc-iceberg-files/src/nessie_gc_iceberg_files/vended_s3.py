"""Credentials that a repository gives, in a boto3 client: each request has those that are valid by then."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import boto3
import botocore.session
from botocore.credentials import Credentials, ReadOnlyCredentials

from nessie_gc_core.errors import AccessDeniedError, NessieGcError
from nessie_gc_core.model.credentials import StorageCredential
from nessie_gc_iceberg_files.vended_access import Renewal

_REJECTED = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidToken",
        "RequestExpired",
        "TokenRefreshRequired",
    }
)
"""Codes that say that credentials are not valid any more, and nothing of rights."""
_NO_CODE = frozenset({"", "401", "403", "Forbidden"})
"""Codes of answers without a body, such as those to HEAD."""
_TRIED = "nessie-gc-renewed"


class VendedCredentials(Credentials):  # type: ignore[misc]  # botocore has no types
    """Those of a renewal; where it has none any more, the last ones stay, and the store refuses them."""

    def __init__(self, renewal: Renewal) -> None:
        found = renewal.current()
        if found is None:
            raise AccessDeniedError(f"the catalog gives no credentials for {renewal.location} any more")
        self._renewal, self._lock, self._last = renewal, threading.Lock(), found
        super().__init__(*_parts(found), method="vended")

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Those that are valid now."""
        found = self._renewal.current()
        with self._lock:
            self._last = found or self._last
            return ReadOnlyCredentials(*_parts(self._last))

    def renew(self) -> bool:
        """Asks for others after the store rejected these; whether there are some.

        A repository that does not answer has none.
        """
        try:
            return self._renewal.renewed(self._last) is not None
        except NessieGcError:
            return False


def vended_session(credentials: VendedCredentials, region: str | None) -> boto3.Session:
    """A session with these credentials and no others."""
    session = botocore.session.get_session()
    session._credentials = credentials
    return boto3.Session(botocore_session=session, region_name=region)


def renew_when_rejected(client: Any, credentials: VendedCredentials) -> None:
    """Has a client try a request once more with new credentials, where the store rejects those that it has."""

    def needs_retry(
        response: tuple[Any, Mapping[str, Any]] | None, request_dict: dict[str, Any], **_: object
    ) -> float | None:
        if response is None or not _was_rejected(response[1]) or request_dict["context"].get(_TRIED):
            return None
        request_dict["context"][_TRIED] = True
        return 0.0 if credentials.renew() else None  # None: botocore decides

    client.meta.events.register_first("needs-retry.*.*", needs_retry)


def _was_rejected(answer: Mapping[str, Any]) -> bool:
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = str(answer.get("Error", {}).get("Code", ""))
    return code in _REJECTED or (status in (401, 403) and code in _NO_CODE)


def _parts(credential: StorageCredential) -> tuple[str, str, str | None]:
    properties = credential.properties
    return (
        properties["s3.access-key-id"],
        properties["s3.secret-access-key"],
        properties.get("s3.session-token"),
    )
