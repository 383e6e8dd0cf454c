"""Schemes of locations that nobody reads or lists: what is missing, and what to do."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from nessie_gc_core.model.hosts import ARGUMENTS

FILE_IO = "py-io-impl"
"""The property that names the class of PyIceberg's FileIO."""
_OSS, _ENDPOINT = "oss", "s3.endpoint"
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


def unread_scheme(scheme: str, properties: Mapping[str, str], readable: Collection[str]) -> str | None:
    """Why PyIceberg's FileIO cannot read a scheme, in one line; ``None``: it can.

    Args:
        scheme: in lower case.
        properties: Iceberg's FileIO properties, as configured.
        readable: the schemes that PyIceberg has a FileIO for.
    """
    if FILE_IO in properties:
        return None
    if scheme not in readable:
        return (
            f"no FileIO reads the scheme {scheme!r}: set the property {FILE_IO} to one that does, and install a plugin "
            f"that lists {scheme!r} locations"
        )
    named = (properties.get(_ENDPOINT), properties.get(ARGUMENTS + _OSS), *map(os.environ.get, _ENDPOINT_VARIABLES))
    if scheme == _OSS and not any(named):  # else the bucket of that name on AWS is asked
        return (
            f"{_OSS} locations are read by the protocol of S3: set the property {_ENDPOINT} to the address of their "
            "server, such as https://oss-eu-central-1.aliyuncs.com"
        )
    return None


def unlisted_scheme(scheme: str) -> str:
    """What to do where no installed plugin lists a scheme, in one line; after "no installed plugin lists it"."""
    return (
        "install one that does, or if a scheme that is listed reaches the same files, declare it with "
        f"`scheme_alias` {scheme}=SCHEME"
    )
