"""A boto3 client from Iceberg's FileIO properties, in PyIceberg's and in Java's words."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import boto3
from botocore import UNSIGNED
from botocore.config import Config
from botocore.utils import get_environ_proxies, is_valid_endpoint_url
from obstore.store import S3Store

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import one_line
from nessie_gc_iceberg_files.quick_reads import by_proxy
from nessie_gc_iceberg_files.vended_s3 import VendedCredentials, vended_session

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore, S3Credential

_HOST_LABEL = re.compile(r"(?!xn--)[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
KEY_ORDER = "s3.list-in-key-order"
_UNKNOWN_SIGNER = "s3.signer"
RETRIES = 4
_TIMEOUT_SECONDS = 60
_SLOW = 10
"""How many times the time that a server may be silent a whole object may take."""
_ASKED_AGAIN = timedelta(minutes=5)


def s3_session(properties: Mapping[str, str], vended: VendedCredentials | None = None) -> boto3.Session:
    """Region and credentials; those that the properties do not have come from the AWS credential chain.

    Args:
        properties: Iceberg FileIO properties.
        vended: credentials that are used instead of any others.

    Raises:
        ConfigurationError: a property is wrong, or asks for something that is not supported here.
    """
    try:
        if vended is not None:
            return vended_session(vended, _first(properties, "s3.region", "client.region"))
        return boto3.Session(
            aws_access_key_id=_first(properties, "s3.access-key-id", "client.access-key-id"),
            aws_secret_access_key=_first(properties, "s3.secret-access-key", "client.secret-access-key"),
            aws_session_token=_first(properties, "s3.session-token", "client.session-token"),
            region_name=_first(properties, "s3.region", "client.region"),
            profile_name=_first(properties, "s3.profile-name", "client.profile-name"),
        )
    except Exception as error:  # botocore raises many kinds on bad profiles
        raise ConfigurationError(f"cannot create an S3 client from the properties: {one_line(error)}") from error


def check_s3(properties: Mapping[str, str]) -> None:
    """Refuses properties that are invalid, before a client is made.

    Raises:
        ConfigurationError: a property is wrong, or asks for something that is not supported here.
    """
    if _UNKNOWN_SIGNER in properties:
        raise ConfigurationError(f"the property {_UNKNOWN_SIGNER!r} is not supported; give the collector credentials")
    _config(properties)
    endpoint = properties.get("s3.endpoint")
    if endpoint is not None and not is_valid_endpoint_url(endpoint):
        raise ConfigurationError(f"cannot create an S3 client from the properties: Invalid endpoint: {endpoint}")


def s3_client(session: boto3.Session, properties: Mapping[str, str]) -> Any:
    """A client.

    Raises:
        ConfigurationError: a property is wrong.
    """
    config = _config(properties)
    try:
        return session.client(
            "s3",
            endpoint_url=properties.get("s3.endpoint"),
            region_name=session.region_name or "us-east-1",
            config=config,
        )
    except Exception as error:  # botocore raises many kinds on bad endpoints and regions
        raise ConfigurationError(f"cannot create an S3 client from the properties: {one_line(error)}") from error


def s3_reads(
    bucket: str, session: boto3.Session, client: Callable[[], Any], properties: Mapping[str, str]
) -> ObjectStore | None:
    """A quick client for whole objects, with the address, the region and the credentials that boto3 has.

    boto3's client takes a third of a second to make; it is asked only where the properties do not say the address.

    ``None`` if there are no credentials: boto3 has the better words for that.
    """
    timeout = timedelta(seconds=number(properties, "s3.request-timeout", _TIMEOUT_SECONDS))
    endpoint, is_virtual = properties.get("s3.endpoint"), _addressing(properties) == "virtual"
    if endpoint is None:
        endpoint = str(client().meta.endpoint_url)
    anonymous = _flag(properties, "s3.anonymous")
    credentials = None if anonymous else session.get_credentials()
    if (credentials is None and not anonymous) or (is_virtual and not _HOST_LABEL.fullmatch(bucket)):
        return None
    address = endpoint.replace("://", f"://{bucket}.", 1) if is_virtual else endpoint
    return S3Store(
        bucket,
        # Under both names: the environment's AWS_ENDPOINT_URL_S3 would win over the first.
        config={"endpoint": address, "aws_endpoint_url_s3": address},
        virtual_hosted_style_request=is_virtual,
        region=session.region_name or "us-east-1",
        skip_signature=anonymous,
        credential_provider=None if anonymous else partial(_frozen, credentials, is_aws=is_aws(endpoint)),
        client_options={
            "allow_http": endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=number(properties, "s3.connect-timeout", _TIMEOUT_SECONDS)),
            "read_timeout": timeout,
            "timeout": timeout * _SLOW,
            **by_proxy(_proxy_for(address, properties)),
            **_certificates(),
        },
        retry_config={"max_retries": int(number(properties, "s3.retry.num-retries", RETRIES))},
    )


def _proxy_for(address: str, properties: Mapping[str, str]) -> str | None:
    """That of the properties, else that of the environment as boto3 takes it."""
    found: str | None = get_environ_proxies(address).get(urlsplit(address).scheme)
    return properties.get("s3.proxy-uri") or found


def is_aws(endpoint: str) -> bool:
    """Whether an address is one of AWS itself, by TLS."""
    url = urlsplit(endpoint)
    return url.scheme == "https" and (url.hostname or "").endswith((".amazonaws.com", ".amazonaws.com.cn"))


def lists_in_key_order(bucket: str, endpoint: str, properties: Mapping[str, str]) -> bool:
    """Whether listings are in the order of keys' bytes: AWS promises it of all buckets but directory buckets.

    Some other servers list in the order of directories, and take StartAfter by it.
    """
    if KEY_ORDER in properties:
        return _flag(properties, KEY_ORDER)
    return is_aws(endpoint) and not bucket.endswith(("--x-s3", "--xa-s3"))


def _frozen(credentials: Any, *, is_aws: bool) -> S3Credential:
    """What boto3 has, which it renews; asked for again before it can have run out.

    obstore follows redirects, and takes a session token along. AWS redirects to itself; of other servers nobody knows
    (S28), so there the objects are left to boto3, which follows none.
    """
    frozen = credentials.get_frozen_credentials()
    if frozen.token and not is_aws:
        raise ConfigurationError("session tokens are sent to AWS only")
    return {
        "access_key_id": frozen.access_key,
        "secret_access_key": frozen.secret_key,
        "token": frozen.token,
        "expires_at": datetime.now(UTC) + _ASKED_AGAIN,
    }


def _certificates() -> ClientConfig:
    """The authorities that boto3 is told to trust."""
    bundle = os.environ.get("AWS_CA_BUNDLE") or os.environ.get("REQUESTS_CA_BUNDLE")
    return {"root_certificate": Path(bundle).read_bytes()} if bundle and Path(bundle).is_file() else {}


def _config(properties: Mapping[str, str]) -> Config:
    more: dict[str, Any] = {}
    retries = int(number(properties, "s3.retry.num-retries", RETRIES))
    if _flag(properties, "s3.anonymous"):
        more["signature_version"] = UNSIGNED
    if proxy := properties.get("s3.proxy-uri"):
        more["proxies"] = {"http": proxy, "https": proxy}
    return Config(
        s3={"addressing_style": _addressing(properties)},
        retries={
            "mode": "standard",
            "total_max_attempts": 1 + retries,
        },
        connect_timeout=number(properties, "s3.connect-timeout", _TIMEOUT_SECONDS),
        read_timeout=number(properties, "s3.request-timeout", _TIMEOUT_SECONDS),
        max_pool_connections=64,
        # Servers that are not AWS refuse the checksums that boto3 adds of its own accord.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        **more,
    )


def _addressing(properties: Mapping[str, str]) -> str:
    """As asked; else by path where there is an endpoint, because few servers but AWS have bucket host names."""
    if "s3.path-style-access" in properties:
        return "path" if _flag(properties, "s3.path-style-access") else "virtual"
    if _flag(properties, "s3.force-virtual-addressing"):
        return "virtual"
    return "path" if properties.get("s3.endpoint") else "auto"


def _first(properties: Mapping[str, str], *names: str) -> str | None:
    return next((properties[name] for name in names if properties.get(name)), None)


def _flag(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "false").strip().lower() in {"true", "1", "yes"}


def number(properties: Mapping[str, str], name: str, default: float) -> float:
    """A property that is a number.

    Raises:
        ConfigurationError: it is none.
    """
    try:
        return float(properties.get(name, default))
    except ValueError as error:
        raise ConfigurationError(f"the property {name!r} is not a number: {properties[name]!r}") from error
