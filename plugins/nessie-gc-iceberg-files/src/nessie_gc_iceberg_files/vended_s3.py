"""Credentials that a repository gives, in a boto3 client: each request has those that are valid by then."""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Mapping
from typing import Any

import boto3
import botocore.session
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.loaders import Loader, create_loader

from nessie_gc_core.errors import AccessDeniedError, NessieGcError
from nessie_gc_core.model.credentials import StorageCredential
from nessie_gc_iceberg_files.stores import one_line
from nessie_gc_iceberg_files.vended_access import Renewal

log = logging.getLogger(__name__)

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
        self._renewal, self._last = renewal, found
        self._signed = threading.local()
        super().__init__(*_parts(found), method="vended")

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Those that are valid now."""
        found = self._renewal.current() or self._last
        self._last = self._signed.credential = found
        return ReadOnlyCredentials(*_parts(found))

    def may_have_expired(self) -> bool:
        """Whether nothing says when those expire with which this thread signed last."""
        used: StorageCredential = getattr(self._signed, "credential", self._last)
        return used.expires is None

    def renew(self) -> bool:
        """Whether there are others than those with which this thread signed last, and which the store rejected.

        A repository that does not answer has none.
        """
        try:
            return self._renewal.renewed(getattr(self._signed, "credential", self._last)) is not None
        except NessieGcError as error:
            log.info("the credentials for %s are not renewed: %s", self._renewal.location, one_line(error))
            return False


@functools.cache
def _models() -> Loader:
    """What botocore knows of S3: read once, because each of thousands of tables may have a client."""
    return create_loader()


def vended_session(credentials: VendedCredentials, region: str | None) -> boto3.Session:
    """A session with these credentials and no others."""
    session = botocore.session.get_session()
    session.register_component("data_loader", _models())
    session._credentials = credentials
    return boto3.Session(botocore_session=session, region_name=region)


def renew_when_rejected(client: Any, credentials: VendedCredentials) -> None:
    """Has a client try a request once more with new credentials, where the store rejects those that it has."""

    def needs_retry(
        response: tuple[Any, Mapping[str, Any]] | None, request_dict: dict[str, Any], **_: object
    ) -> float | None:
        if response is None or request_dict["context"].get(_TRIED):
            return None
        if not _was_rejected(response[1], refusals=credentials.may_have_expired()):
            return None
        request_dict["context"][_TRIED] = True
        return 0.0 if credentials.renew() else None  # None: botocore decides

    client.meta.events.register_first("needs-retry.*.*", needs_retry)


def _was_rejected(answer: Mapping[str, Any], *, refusals: bool) -> bool:
    """Whether credentials are not valid any more; with ``refusals`` also where that may be why something is refused."""
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    code = str(answer.get("Error", {}).get("Code", ""))
    return code in _REJECTED or (status in (401, 403) and (refusals or code in _NO_CODE))


def _parts(credential: StorageCredential) -> tuple[str, str, str | None]:
    properties = credential.properties
    return (
        properties["s3.access-key-id"],
        properties["s3.secret-access-key"],
        properties.get("s3.session-token"),
    )
