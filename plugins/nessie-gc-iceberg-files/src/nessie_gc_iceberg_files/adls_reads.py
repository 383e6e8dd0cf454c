"""A quick client for the blobs of one container, with the address and the credentials that Azure's SDK has."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from fsspec.asyn import sync
from obstore.store import AzureStore

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.hosts import is_azure
from nessie_gc_iceberg_files.quick_reads import by_proxy

if TYPE_CHECKING:
    from obstore.store import AzureCredential, ObjectStore

_SCOPE = "https://storage.azure.com/.default"
_OWN_KEY = "azure_storage_encryption_key"
"""A variable by which obstore sends a key of one's own with each request, which the SDK does not."""
_CONNECT_TIMEOUT, _READ_TIMEOUT, _RETRIES = timedelta(seconds=20), timedelta(seconds=60), 3
"""What the SDK has, and our properties cannot change."""
_SLOW = 10
"""How many times the time that a server may be silent a whole blob may take."""


def adls_reads(container: str, fs: Any) -> ObjectStore | None:
    """A quick client that says whatever the SDK would say; ``None`` if it cannot."""
    service = fs.service_client
    url = urlsplit(service.url)
    address = f"{url.scheme}://{url.netloc}{url.path}".rstrip("/")
    provider = _credential_of(service.credential, url, fs.loop)
    proxy = _proxy_for(url)
    if provider is None or "@" in url.netloc or not (proxy or "http://").startswith("http://"):
        return None
    if any(name.lower() == _OWN_KEY for name in os.environ):
        return None
    return AzureStore(
        container,
        # Each is said, so that none is taken from the environment.
        config={
            "account_name": service.account_name or (url.hostname or "").partition(".")[0],
            "endpoint": address,
            "use_emulator": False,
            "skip_signature": service.credential is None and not url.query,
        },
        credential_provider=provider,
        client_options={
            "allow_http": url.scheme == "http",
            "connect_timeout": _CONNECT_TIMEOUT,
            "read_timeout": _READ_TIMEOUT,
            "timeout": _READ_TIMEOUT * _SLOW,
            **by_proxy(proxy),
        },
        retry_config={"max_retries": _RETRIES},
    )


def _credential_of(credential: Any, url: SplitResult, loop: Any) -> Callable[[], AzureCredential] | None:
    """What the SDK signs with, which is a key, a token that it renews, a query, or nothing; ``None``: something else.

    obstore follows redirects. It takes keys and tokens to no other host, but tells it the whole address, of which a
    shared access signature is a part. Azure sends nobody away; of other servers nobody knows (S28), so there the blobs
    are left to the SDK.
    """
    if credential is None and not url.query:
        return _anonymous
    if credential is None:
        pairs = _pairs(url.query)
        return (lambda: {"sas_token": pairs, "expires_at": None}) if pairs and _is_theirs(url) else None
    if url.query:
        return None
    if hasattr(credential, "account_key"):
        return lambda: {"access_key": credential.account_key, "expires_at": None}
    if hasattr(credential, "get_token") and url.scheme == "https":
        return lambda: _token(credential, loop)
    return None


def _is_theirs(url: SplitResult) -> bool:
    return url.scheme == "https" and url.port in (None, 443) and is_azure(url.hostname or "")


def _anonymous() -> AzureCredential:
    raise ConfigurationError("there are no credentials to send")


def _token(credential: Any, loop: Any) -> AzureCredential:
    found = sync(loop, credential.get_token, _SCOPE)
    return {"token": found.token, "expires_at": datetime.fromtimestamp(found.expires_on, UTC)}


def _pairs(query: str) -> list[tuple[str, str]] | None:
    """The parts of a shared access signature; ``None`` if obstore would write a part otherwise than it is given."""
    pairs = [part.partition("=")[::2] for part in query.split("&")]
    made = [(unquote(name), unquote(value)) for name, value in pairs]
    return None if "+" in query or any(" " in name + value for name, value in made) else made


def _proxy_for(url: SplitResult) -> str | None:
    """That of the environment, as the SDK takes it."""
    return None if proxy_bypass(url.hostname or "") else getproxies().get(url.scheme)
