"""A quick client for the objects of one GCS bucket, with the address and the credentials that gcsfs has."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from obstore.store import GCSStore

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_iceberg_files.quick_reads import by_proxy, is_unpacked

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import GCSCredential, ObjectStore

_JSON_API = "/storage/v1/"
_ADDRESS = re.compile(r"https?://[^/?#@]+")
_PAYS = "x-goog-user-project"
_ASKED_AGAIN = timedelta(minutes=5)
_TIMEOUT, _CONNECT_TIMEOUT, _RETRIES = timedelta(minutes=5), timedelta(seconds=30), 5
"""What gcsfs has, and its properties cannot change."""


def gcs_reads(bucket: str, fs: Any) -> ObjectStore | None:
    """A quick client that says whatever gcsfs would say.

    ``None`` if it cannot: requests that someone else pays for, client certificates, and settings of the session.
    """
    endpoint = fs.base.removesuffix(_JSON_API)
    if fs.requester_pays or fs.session_kwargs or getattr(fs, "_use_client_cert", False):
        return None
    if not _ADDRESS.fullmatch(endpoint):
        return None
    found = fs.credentials.credentials
    payer = getattr(found, "quota_project_id", None)
    more = {_PAYS: str(payer)} if payer else {}
    return GCSStore(
        bucket,
        # Each is said, so that none is taken from the environment.
        config={"base_url": endpoint, "skip_signature": found is None},
        credential_provider=_token_of(fs.credentials, more),
        client_options={
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": _CONNECT_TIMEOUT,
            "timeout": _TIMEOUT,
            "default_headers": more,
            **by_proxy(None),  # gcsfs takes none from the environment
        },
        retry_config={"max_retries": _RETRIES},
    )


def is_answer_of_gcs(found: GetResult) -> bool:
    """Whether it is an object of GCS (each has a generation), with the bytes that gcsfs would get."""
    return found.meta["version"] is not None and is_unpacked(found)


def _token_of(credentials: Any, more: dict[str, str]) -> Callable[[], GCSCredential]:
    """What gcsfs sends, which it renews five minutes before its end; asked for again within that time.

    obstore follows redirects, and takes a token to no other host.
    """

    def token() -> GCSCredential:
        headers: dict[str, str] = {}
        credentials.apply(headers)
        sent = {name.lower(): value for name, value in headers.items()}
        kind, _, secret = sent.pop("authorization", "").partition(" ")
        if kind != "Bearer" or sent != more:
            raise ConfigurationError("only gcsfs can send these credentials, which are more than a token")
        return {"token": secret, "expires_at": datetime.now(UTC) + _ASKED_AGAIN}

    return token
