"""What a boto3 client does when S3 says that there are too many requests.

botocore's own retry modes do not suffice. ``standard`` gives up after a few attempts and tells nobody, so that all
other workers go on as before. ``adaptive`` limits the requests of a second, of which a deletion of 1,000 keys is one,
for a whole client, and never sees the keys of an answer 200 that were refused. So botocore keeps the retries of
everything else (resets, timeouts, internal errors), and this module has the requests that were too many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_iceberg_files.limits import MOST_IN_FLIGHT, PATIENCE_SECONDS, Limits, Patience
from nessie_gc_iceberg_files.s3_client import RETRIES, number
from nessie_gc_iceberg_files.s3_deletions import is_throttled

MOST = "s3.max-requests-in-flight"
_PATIENCE = "nessie-gc-patience"
_TOO_MANY = (429, 503, 509)


def most_in_flight(properties: Mapping[str, str]) -> int:
    """How many requests to a bucket may be in flight at the same time.

    Raises:
        ConfigurationError: the property is not a whole number above zero.
    """
    found = number(properties, MOST, MOST_IN_FLIGHT)
    if found < 1 or found != int(found):
        raise ConfigurationError(f"the property {MOST!r} is not a whole number above zero: {properties[MOST]!r}")
    return int(found)


def patience_of(properties: Mapping[str, str]) -> float:
    """How many seconds a request that is too many is tried; none where nothing is to be tried again."""
    return PATIENCE_SECONDS if number(properties, "s3.retry.num-retries", RETRIES) else 0.0


def wait_when_throttled(client: Any, limits: Limits, patience_seconds: float) -> None:
    """Has a client tell the limits of its bucket which requests were too many, and try them again."""

    def needs_retry(
        response: tuple[Any, Mapping[str, Any]] | None, request_dict: dict[str, Any], **_: object
    ) -> float | None:
        if response is None or not _was_too_many(response[1]):
            return None
        limits.throttled()
        waits: Patience = request_dict["context"].setdefault(_PATIENCE, limits.patience(patience_seconds))
        return 0.0 if waits.wait() else None  # None: botocore decides

    # First, because botocore takes the first answer of all handlers.
    client.meta.events.register_first("needs-retry.*.*", needs_retry)


def _was_too_many(answer: Mapping[str, Any]) -> bool:
    """Whether a whole request was; the answer to a deletion of many keys also has errors of its keys."""
    status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status in _TOO_MANY or ("Error" in answer and is_throttled({"Error": answer["Error"]}))
