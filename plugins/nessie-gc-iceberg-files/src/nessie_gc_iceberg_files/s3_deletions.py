"""Deletions on S3 whichever client sends them: which keys go together, and what the answer says of each."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any

from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_iceberg_files.limits import Patience
from nessie_gc_iceberg_files.s3_rights import with_s3_right
from nessie_gc_iceberg_files.side_by_side import side_by_side
from nessie_gc_iceberg_files.stores import failed

DENIED = frozenset({"AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"})
"""Codes of refusals."""
GONE = frozenset({"NoSuchKey", "NoSuchVersion"})
"""Codes that say that a key is not there."""
EXISTS = "PreconditionFailed"
"""The code of a refusal to write over a key."""
THROTTLED = frozenset(
    {
        "429",
        "503",
        "509",
        "BandwidthLimitExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ServiceUnavailable",
        "SlowDown",
        "SlowDownRead",
        "SlowDownWrite",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "TooManyRequestsException",
    }
)
"""Codes that say that there are too many requests just now."""
LATER = THROTTLED | {"InternalError", "RequestTimeout"}
"""Codes of keys that may be deleted if they are asked for again."""
BATCH = 1000
"""How many keys DeleteObjects takes."""
Named = Mapping[str, str]
"""What is said of an object besides its key: ``VersionId`` or ``ETag``."""
_NOT_IN_XML = re.compile(r"[^\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""Characters that XML 1.0 cannot carry, or that its readers change; such keys are deleted one by one."""


def deleted(
    prefix: str,
    paths: Sequence[str],
    batch: Callable[[str, Sequence[str], threading.Event], Iterator[DeleteOutcome]],
    one: Callable[[str, str], DeleteOutcome],
) -> Iterator[DeleteOutcome]:
    """DeleteObjects for up to 1,000 keys, several at a time; single deletes for keys that XML cannot carry."""
    plain = [path for path in paths if not _NOT_IN_XML.search(prefix + path)]
    parts = [plain[start : start + BATCH] for start in range(0, len(plain), BATCH)]
    with closing(side_by_side([partial(_whole, batch, prefix, part) for part in parts])) as answers:
        for outcomes in answers:
            yield from outcomes
    for path in paths:
        if _NOT_IN_XML.search(prefix + path):
            yield one(prefix, path)


def _whole(
    batch: Callable[[str, Sequence[str], threading.Event], Iterator[DeleteOutcome]],
    prefix: str,
    part: Sequence[str],
    stopped: threading.Event,
) -> Sequence[DeleteOutcome]:
    return [*batch(prefix, part, stopped)]


def answered(
    prefix: str,
    paths: Sequence[str],
    ask: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    reason_of: Callable[[Exception], str],
    patience: Patience,
    named: Mapping[str, Named] | None = None,
) -> Iterator[DeleteOutcome]:
    """What DeleteObjects says of each path; those that it could not delete just now are asked for again.

    A path that an answer does not mention has failed.

    Args:
        prefix: what the keys begin with.
        paths: what follows.
        ask: sends what DeleteObjects is told; returns its answer.
        reason_of: why a request failed, without secrets.
        patience: the waits between requests.
        named: what is said of some paths besides their keys.
    """
    waiting = paths
    while waiting:
        try:
            answer = ask(_asked_for(prefix, waiting, named or {}))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the failure of these files
            reason = reason_of(error)
            yield from (failed(path, reason) for path in waiting)
            return
        gone = {found.get("Key") for found in answer.get("Deleted", ())}
        errors = {found.get("Key"): found for found in answer.get("Errors", ())}
        later = [path for path in waiting if errors.get(prefix + path, {}).get("Code") in LATER]
        if later and not patience.wait():
            later = []
        again = set(later)
        for path in waiting:
            if path not in again:
                right = right_to_delete((named or {}).get(path, {}))
                yield _outcome(path, errors.get(prefix + path), right, is_deleted=prefix + path in gone)
        waiting = later


def is_throttled(answer: Mapping[str, Any]) -> bool:
    """Whether an answer, or an answer's word on one of its keys, says that there are too many requests."""
    return any(found.get("Code") in THROTTLED for found in (answer.get("Error", {}), *answer.get("Errors", ())))


def _asked_for(prefix: str, paths: Sequence[str], named: Mapping[str, Named]) -> Mapping[str, Any]:
    objects = [{"Key": prefix + path, **named.get(path, {})} for path in dict.fromkeys(paths)]
    return {"Objects": objects, "Quiet": False}


def right_to_delete(named: Mapping[str, Any]) -> str:
    """The action of IAM that a deletion needs.

    Args:
        named: what the request says of the object besides its key.
    """
    return "s3:DeleteObjectVersion" if "VersionId" in named else "s3:DeleteObject"


def _outcome(path: str, error: Mapping[str, Any] | None, right: str, *, is_deleted: bool) -> DeleteOutcome:
    if error is not None:
        if error.get("Code") in GONE:
            return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
        said = f"{error.get('Code')}: {error.get('Message')}"
        return failed(path, with_s3_right(said, str(error.get("Code")), right))
    if not is_deleted:
        return failed(path, "the server's response does not mention it")
    return DeleteOutcome(path=path, status=DeleteStatus.DELETED)
