"""Requests to the JSON API of Google Cloud Storage that several parts of this plugin send."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

Call = Callable[..., Awaitable[Any]]
"""Asks the JSON API, as gcsfs does: 404 is a ``FileNotFoundError``, and 412 a ``FileExistsError``."""


def safe(key: str) -> str:
    """URL clients resolve these two names, even escaped: the request would go to the bucket itself."""
    if key in (".", ".."):
        raise ValueError(f"no request can carry the key {key!r}")
    return key


async def rewritten(call: Call, bucket: str, key: str, new_key: str, **conditions: str) -> int:
    """Copies an object within a bucket, in as many requests as the server wants; their number.

    Args:
        call: asks the service.
        bucket: its name.
        key: of the object.
        new_key: of the copy; nothing is there yet.
        conditions: which generation is copied, or may be.
    """
    requests, more = 0, dict[str, str]()
    while True:
        requests += 1
        answer: Mapping[str, Any] = await call(
            "POST",
            "b/{}/o/{}/rewriteTo/b/{}/o/{}",
            bucket,
            key,
            bucket,
            new_key,
            ifGenerationMatch="0",
            json_out=True,
            **conditions,
            **more,
        )
        if answer.get("done", True):
            return requests
        more = {"rewriteToken": answer["rewriteToken"]}
