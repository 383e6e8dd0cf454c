"""Moves in one S3 bucket: copy, look at the copy, and only then delete."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError

from nessie_gc_core.model.files import DeleteOutcome
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_iceberg_files.s3_deletions import EXISTS, GONE
from nessie_gc_iceberg_files.s3_rights import said_of
from nessie_gc_iceberg_files.side_by_side import side_by_side
from nessie_gc_iceberg_files.stores import moved_by, unmoved
from nessie_gc_iceberg_files.traffic import asking

_TOGETHER = 25
"""So many files are copied one after the other in a thread."""
_MOST_BYTES = 5 << 30
"""One request copies at most so much; of more, parts are copied."""
Delete = Callable[[str, Sequence[str]], Iterator[DeleteOutcome]]
Slot = Callable[[str, threading.Event], AbstractContextManager[None]]
"""Waits until a request for a key may begin, unless the call is stopped."""


class _Stored(NamedTuple):
    """What the bucket says of an object."""

    size: int
    etag: str


@dataclass(frozen=True, slots=True)
class S3Moves:
    """The requests of a move in one bucket."""

    client: Any
    """Of boto3."""
    bucket: str
    slot: Slot

    def copied(
        self, prefix: str, to: str, moves: Sequence[FileMove], stopped: threading.Event
    ) -> list[tuple[FileMove, MoveOutcome | None]]:
        """Copies some objects; one without an outcome is whole at both keys now."""
        return [(move, self._copied(prefix + move.path, to + move.to_path, move, stopped)) for move in moves]

    def _copied(self, key: str, new_key: str, move: FileMove, stopped: threading.Event) -> MoveOutcome | None:
        try:
            status = self._status(key, new_key, stopped)
        except ClientError as error:
            if _code(error) not in (EXISTS, *GONE):
                return unmoved(move, said_of(error))
            try:  # somebody else was quicker, such as another attempt of the same task
                status = self._status(key, new_key, stopped)
            except (ClientError, BotoCoreError, OSError) as again:
                return unmoved(move, said_of(again))
        except (BotoCoreError, OSError, ValueError) as error:  # ValueError: no request can carry the key
            return unmoved(move, error)
        return None if status is None else MoveOutcome(path=move.path, status=status)

    def _status(self, key: str, new_key: str, stopped: threading.Event) -> MoveStatus | None:
        """Copies an object; ``None``: it is whole at both keys now."""
        source, there = self._head(key, stopped), self._head(new_key, stopped)
        if source is None:
            return MoveStatus.MISSING if there is None else MoveStatus.MOVED
        if there is not None:
            return None if there == source else MoveStatus.EXISTS
        self._copy(key, new_key, source, stopped)
        found = self._head(new_key, stopped)
        if found is None or found.size != source.size:
            raise OSError("its copy is not whole")
        return None

    def _head(self, key: str, stopped: threading.Event) -> _Stored | None:
        try:
            with asking(), self.slot(key, stopped):
                found = self.client.head_object(Bucket=self.bucket, Key=key)
        except ClientError as error:
            if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") == 404:
                return None
            raise
        return _Stored(int(found["ContentLength"]), str(found.get("ETag", "")))

    def _copy(self, key: str, new_key: str, source: _Stored, stopped: threading.Event) -> None:
        """The object as it was seen, where there is none yet; one that changed meanwhile is an error.

        Servers that do not know the second condition, and copies in parts, leave a moment in which both are possible.
        """
        origin = {"Bucket": self.bucket, "Key": key}
        if source.size > _MOST_BYTES:  # in requests of its own, each of which may wait
            with asking():
                self.client.copy(origin, self.bucket, new_key, ExtraArgs={"CopySourceIfMatch": source.etag})
            return
        new = {"IfNoneMatch": "*"} if self._knows_new else {}
        with asking(), self.slot(key, stopped):
            self.client.copy_object(
                Bucket=self.bucket, Key=new_key, CopySource=origin, CopySourceIfMatch=source.etag, **new
            )

    @property
    def _knows_new(self) -> bool:
        """Whether this version of boto3 can ask for a copy only where there is no object."""
        return "IfNoneMatch" in self.client.meta.service_model.operation_model("CopyObject").input_shape.members


def move_all(
    requests: S3Moves, prefix: str, to: str, moves: Sequence[FileMove], delete: Delete
) -> Iterator[MoveOutcome]:
    """Moves the objects ``prefix + path`` to ``to + to_path``.

    An object at both keys counts as the same if size and entity tag are equal. Of an object that was uploaded in parts
    a copy has another tag: if the call is killed between copy and deletion, the outcome of the next one is EXISTS.

    Args:
        requests: to the bucket.
        prefix: raw key that the old paths are below.
        to: raw key that the new paths are below.
        moves: what is moved.
        delete: deletes objects below a prefix in bulk.
    """
    copied: list[str] = []
    parts = [moves[start : start + _TOGETHER] for start in range(0, len(moves), _TOGETHER)]
    with closing(side_by_side([partial(requests.copied, prefix, to, part) for part in parts])) as answers:
        for move, outcome in (each for answer in answers for each in answer):
            if outcome is None:
                copied.append(move.path)
            else:
                yield outcome
    for deleted in delete(prefix, copied) if copied else ():
        yield moved_by(deleted)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
