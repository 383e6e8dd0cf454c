"""Deletions on S3 whichever client sends them: which keys go together, and what the answer says of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_iceberg_files.stores import failed

DENIED = frozenset({"AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"})
"""Codes of refusals."""
GONE = frozenset({"NoSuchKey", "NoSuchVersion"})
"""Codes that say that a key is not there."""
EXISTS = "PreconditionFailed"
"""The code of a refusal to write over a key."""
_BATCH = 1000
_NOT_IN_XML = re.compile(r"[^\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")
"""Characters that XML 1.0 cannot carry, or that its readers change; such keys are deleted one by one."""


def deleted(
    prefix: str,
    paths: Sequence[str],
    batch: Callable[[str, Sequence[str]], Iterator[DeleteOutcome]],
    one: Callable[[str, str], DeleteOutcome],
) -> Iterator[DeleteOutcome]:
    """DeleteObjects for up to 1,000 keys; single deletes for keys that XML cannot carry."""
    plain = [path for path in paths if not _NOT_IN_XML.search(prefix + path)]
    for start in range(0, len(plain), _BATCH):
        yield from batch(prefix, plain[start : start + _BATCH])
    for path in paths:
        if _NOT_IN_XML.search(prefix + path):
            yield one(prefix, path)


def asked_for(prefix: str, paths: Sequence[str]) -> dict[str, Any]:
    """What DeleteObjects is told to delete."""
    return {"Objects": [{"Key": prefix + path} for path in dict.fromkeys(paths)], "Quiet": False}


def answered(prefix: str, paths: Sequence[str], answer: Mapping[str, Any]) -> Iterator[DeleteOutcome]:
    """What the answer of DeleteObjects says of each path; one that it does not mention has failed."""
    gone = {found.get("Key") for found in answer.get("Deleted", ())}
    errors = {found.get("Key"): found for found in answer.get("Errors", ())}
    for path in paths:
        yield _outcome(path, errors.get(prefix + path), is_deleted=prefix + path in gone)


def _outcome(path: str, error: Mapping[str, Any] | None, *, is_deleted: bool) -> DeleteOutcome:
    if error is not None:
        if error.get("Code") in GONE:
            return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
        return failed(path, f"{error.get('Code')}: {error.get('Message')}")
    if not is_deleted:
        return failed(path, "the server's response does not mention it")
    return DeleteOutcome(path=path, status=DeleteStatus.DELETED)
