"""Moves in one S3 bucket: copy, look at the copy, and only then delete."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_iceberg_files.stores import one_line
from nessie_gc_iceberg_files.traffic import asking

_AT_ONCE = 16
"""So many files are copied at the same time."""
_MOST_BYTES = 5 << 30
"""One request copies at most so much; of more, parts are copied."""
Delete = Callable[[str, Sequence[str]], Iterator[DeleteOutcome]]


class _Stored(NamedTuple):
    """What the bucket says of an object."""

    size: int
    etag: str


def move_all(
    client: Any, bucket: str, prefix: str, to: str, moves: Sequence[FileMove], delete: Delete
) -> Iterator[MoveOutcome]:
    """Moves the objects ``prefix + path`` to ``to + to_path``.

    An object at both keys counts as the same if size and entity tag are equal. Of an object that was uploaded in parts
    a copy has another tag: if the call is killed between copy and deletion, the outcome of the next one is EXISTS.

    Args:
        client: of boto3.
        bucket: the bucket.
        prefix: raw key that the old paths are below.
        to: raw key that the new paths are below.
        moves: what is moved.
        delete: deletes objects below a prefix in bulk.
    """
    copied: list[FileMove] = []
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        outcomes = pool.map(lambda move: _copied(client, bucket, prefix + move.path, to + move.to_path, move), moves)
        for move, outcome in zip(moves, outcomes, strict=True):
            if outcome is None:
                copied.append(move)
            else:
                yield outcome
    for deleted in delete(prefix, [move.path for move in copied]):
        if deleted.status is DeleteStatus.FAILED:
            yield MoveOutcome(path=deleted.path, status=MoveStatus.FAILED, reason=deleted.reason)
        else:
            yield MoveOutcome(path=deleted.path, status=MoveStatus.MOVED)


def _copied(client: Any, bucket: str, key: str, new_key: str, move: FileMove) -> MoveOutcome | None:
    """Copies one object; ``None``: it is whole at both keys now."""
    try:
        source, there = _head(client, bucket, key), _head(client, bucket, new_key)
        if source is None:
            return MoveOutcome(path=move.path, status=MoveStatus.MISSING if there is None else MoveStatus.MOVED)
        if there is None:
            _copy(client, bucket, key, new_key, source)
            found = _head(client, bucket, new_key)
            if found is None or found.size != source.size:
                return MoveOutcome(path=move.path, status=MoveStatus.FAILED, reason="its copy is not whole")
        elif there != source:
            return MoveOutcome(path=move.path, status=MoveStatus.EXISTS)
    except (ClientError, BotoCoreError, ValueError) as error:  # ValueError: a key that no request can carry
        return MoveOutcome(path=move.path, status=MoveStatus.FAILED, reason=one_line(error))
    return None


def _head(client: Any, bucket: str, key: str) -> _Stored | None:
    try:
        with asking():
            found = client.head_object(Bucket=bucket, Key=key)
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
            return None
        raise
    return _Stored(int(found["ContentLength"]), str(found.get("ETag", "")))


def _copy(client: Any, bucket: str, key: str, new_key: str, source: _Stored) -> None:
    """The object as it was seen, with its metadata and tags; one that changed meanwhile is an error."""
    origin = {"Bucket": bucket, "Key": key}
    if source.size > _MOST_BYTES:
        with asking():
            client.copy(origin, bucket, new_key, ExtraArgs={"CopySourceIfMatch": source.etag})
        return
    with asking():
        client.copy_object(Bucket=bucket, Key=new_key, CopySource=origin, CopySourceIfMatch=source.etag)
