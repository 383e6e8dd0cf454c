"""A boto3 client from Iceberg's FileIO properties, in PyIceberg's and in Java's words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from botocore import UNSIGNED
from botocore.config import Config

from nessie_gc_core.errors import ConfigurationError

_UNKNOWN_SIGNER = "s3.signer"
_RETRIES = 4
_TIMEOUT_SECONDS = 60


def s3_client(session: Callable[..., Any], properties: Mapping[str, str]) -> Any:
    """A client; credentials that the properties do not have come from the AWS credential chain.

    Raises:
        ConfigurationError: a property is wrong, or asks for something that is not supported here.
    """
    if _UNKNOWN_SIGNER in properties:
        raise ConfigurationError(f"the property {_UNKNOWN_SIGNER!r} is not supported; give the collector credentials")
    try:
        opened = session(
            aws_access_key_id=_first(properties, "s3.access-key-id", "client.access-key-id"),
            aws_secret_access_key=_first(properties, "s3.secret-access-key", "client.secret-access-key"),
            aws_session_token=_first(properties, "s3.session-token", "client.session-token"),
            region_name=_first(properties, "s3.region", "client.region"),
            profile_name=_first(properties, "s3.profile-name", "client.profile-name"),
        )
        region = opened.region_name or "us-east-1"
        return opened.client(
            "s3",
            endpoint_url=properties.get("s3.endpoint"),
            region_name=region,
            config=_config(properties),
        )
    except ConfigurationError:
        raise
    except Exception as error:  # botocore raises many kinds on bad endpoints, profiles and regions
        raise ConfigurationError(f"no S3 client can be made from the properties: {error}") from error


def _config(properties: Mapping[str, str]) -> Config:
    more: dict[str, Any] = {}
    retries = int(_number(properties, "s3.retry.num-retries", _RETRIES))
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
        connect_timeout=_number(properties, "s3.connect-timeout", _TIMEOUT_SECONDS),
        read_timeout=_number(properties, "s3.request-timeout", _TIMEOUT_SECONDS),
        max_pool_connections=32,
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


def _number(properties: Mapping[str, str], name: str, default: float) -> float:
    try:
        return float(properties.get(name, default))
    except ValueError as error:
        raise ConfigurationError(f"the property {name!r} is no number: {properties[name]!r}") from error
