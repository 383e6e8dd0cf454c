"""One S3 bucket, through boto3: pages are streamed, and a bulk deletion's answer is read for each key."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, NoReturn

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from nessie_gc_core.errors import AccessDeniedError, ListingError, NessieGcError, ServiceUnavailableError
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.clocks import from_date_header
from nessie_gc_iceberg_files.key_ranges import OrderedStore
from nessie_gc_iceberg_files.limits import Patience, limits_of
from nessie_gc_iceberg_files.quick_reads import QuickReads
from nessie_gc_iceberg_files.s3_backoff import most_in_flight, patience_of, wait_when_throttled
from nessie_gc_iceberg_files.s3_client import check_s3, lists_in_key_order, s3_client, s3_reads, s3_session
from nessie_gc_iceberg_files.s3_deletions import (
    DENIED,
    EXISTS,
    GONE,
    Named,
    answered,
    deleted,
    is_throttled,
    right_to_delete,
)
from nessie_gc_iceberg_files.s3_moves import S3Moves, move_all
from nessie_gc_iceberg_files.s3_pages import level_of, objects_of, read_objects_of
from nessie_gc_iceberg_files.s3_rights import with_s3_right
from nessie_gc_iceberg_files.s3_tags import S3Tags
from nessie_gc_iceberg_files.s3_versions import S3Versions
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, failed, one_line
from nessie_gc_iceberg_files.traffic import asking, each_asked
from nessie_gc_iceberg_files.vended_access import Renewal
from nessie_gc_iceberg_files.vended_s3 import VendedCredentials, renew_when_rejected

log = logging.getLogger(__name__)


class S3Store(Store, OrderedStore):
    """Keys are raw S3 keys; doubled slashes and leading slashes are part of them."""

    can_move = True

    def __init__(self, bucket: str, properties: Mapping[str, str], renewal: Renewal | None = None) -> None:
        """Takes what the client is made with; nothing is opened yet.

        Args:
            bucket: its name.
            properties: Iceberg FileIO properties.
            renewal: the credentials, where the properties do not have them.
        """
        self._bucket = bucket
        self._properties = dict(properties)
        self._vended = VendedCredentials(renewal) if renewal is not None else None
        self._session = s3_session(properties, self._vended)
        check_s3(properties)
        self._limits = limits_of(properties.get("s3.endpoint", ""), bucket, most_in_flight(properties))
        self._lock = threading.Lock()
        self._opened: Any = None
        self._reads = QuickReads(lambda: s3_reads(bucket, self._session, lambda: self._client, properties))

    @property
    def _client(self) -> Any:
        """The exact client. It has types only in a stub package that is generated for one version of boto3."""
        with self._lock:
            if self._opened is None:
                self._opened = s3_client(self._session, self._properties)
                read_objects_of(self._opened)
                wait_when_throttled(self._opened, self._limits, patience_of(self._properties))
                if self._vended is not None:
                    renew_when_rejected(self._opened, self._vended)
            return self._opened

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """One GET; boto3 has the last word where a key is odd, or the quick client did not get the object."""
        return self._reads.read_or_ask(key, partial(self._read, limit=limit), limit)

    def _read(self, key: str, limit: Limit | None = None) -> bytes:
        try:
            with self._limits.slot(key):
                answer = self._client.get_object(Bucket=self._bucket, Key=key)
                if limit is not None:
                    limit.check_stored(answer["ContentLength"])
                return bytes(answer["Body"].read())
        except ClientError as error:
            if _code(error) == "NoSuchKey":
                raise FileNotFoundError(key) from error
            raise OSError(with_s3_right(_reason(error), _code(error), "s3:GetObject")) from error
        except BotoCoreError as error:
            raise OSError(one_line(error)) from error

    def create(self, key: str, data: bytes) -> None:
        """One PUT, which S3 refuses where there is such a key."""
        try:
            with asking(), self._limits.slot(key):
                self._client.put_object(Bucket=self._bucket, Key=key, Body=data, IfNoneMatch="*")
        except ClientError as error:
            if _code(error) == EXISTS:
                raise FileExistsError(key) from error
            raise OSError(with_s3_right(_reason(error), _code(error), "s3:PutObject")) from error
        except (BotoCoreError, ValueError) as error:  # ValueError: a key that no request can carry
            raise OSError(one_line(error)) from error

    def files(self, prefix: str) -> Iterator[StoredFile]:
        """Pages of ListObjectsV2, in whatever order the server has."""
        for page in self._pages(prefix):
            yield from objects_of(page)

    @property
    def is_ordered(self) -> bool:
        """AWS says so of all buckets but directory buckets; of other servers the configuration may say so."""
        return lists_in_key_order(self._bucket, str(self._client.meta.endpoint_url), self._properties)

    def pages_after(self, prefix: str, after: str) -> Iterator[tuple[Sequence[StoredFile], bool]]:
        """ListObjectsV2 with StartAfter."""
        for page in self._pages(prefix, **({"StartAfter": after} if after else {})):
            yield objects_of(page), not page.get("IsTruncated")

    def folders_after(self, prefix: str, after: str) -> Sequence[str]:
        """One page of ListObjectsV2 with a delimiter."""
        page = next(self._pages(prefix, Delimiter="/", StartAfter=after), {})
        return [found["Prefix"] for found in page.get("CommonPrefixes", ())]

    def level(self, prefix: str, limit: int | None) -> Level | None:
        """ListObjectsV2 with a delimiter."""
        return level_of(self._pages(prefix, Delimiter="/"), limit)

    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """DeleteObjects for up to 1,000 keys; single deletes for keys that XML cannot carry."""
        return deleted(prefix, paths, self._delete_batch, self._delete_one)

    def move(self, prefix: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """Copies on the server, several at a time, then deletes in bulk."""
        return move_all(S3Moves(self._client, self._bucket, self._limits.slot), prefix, to, moves, self.delete)

    def versions(self) -> S3Versions:
        """Through the same client."""
        return S3Versions(self._client, self._bucket, self._limits.slot, self._delete_versions, self.is_ordered)

    def tags(self) -> S3Tags:
        """Through the same client."""
        return S3Tags(self._client, self._bucket, self._limits.slot, self._delete_versions)

    def now(self, prefix: str) -> datetime:
        """The Date header of a listing of one key; a refusal has one too."""
        try:
            answer = self._client.list_objects_v2(Bucket=self._bucket, Prefix=prefix, MaxKeys=1)
        except ClientError as error:
            answer = error.response
        except BotoCoreError as error:
            self._raise(prefix, error)
        return from_date_header(answer["ResponseMetadata"]["HTTPHeaders"].get("date"), f"s3://{self._bucket}/{prefix}")

    def keeps_versions(self) -> bool | None:
        """GetBucketVersioning; suspended means that what was written before still leaves a version behind."""
        try:
            return "Status" in self._client.get_bucket_versioning(Bucket=self._bucket)
        except (ClientError, BotoCoreError) as error:
            log.debug("the versioning of s3://%s cannot be read: %s", self._bucket, _reason(error))
            return None

    def close(self) -> None:
        """Closes the connections."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    def _pages(self, prefix: str, **more: str) -> Iterator[dict[str, Any]]:
        try:
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=prefix, **more)
            yield from each_asked(iter(pages), partial(self._limits.slot, prefix))
        except (ClientError, BotoCoreError) as error:
            self._raise(prefix, error)

    def _raise(self, prefix: str, error: ClientError | BotoCoreError) -> NoReturn:
        where = f"s3://{self._bucket}/{prefix}"
        if isinstance(error, NoCredentialsError | PartialCredentialsError):
            raise AccessDeniedError(f"cannot list {where}: {one_line(error)}") from error
        if not isinstance(error, ClientError):
            raise ServiceUnavailableError(f"cannot list {where}: {one_line(error)}") from error
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if _code(error) in DENIED or status in (401, 403):
            said = with_s3_right(_reason(error), _code(error), "s3:ListBucket")
            raise AccessDeniedError(f"cannot list {where}: {said}") from error
        if _code(error) == "SlowDown" or status >= 500:
            raise ServiceUnavailableError(f"cannot list {where}: {_reason(error)}") from error
        raise ListingError(f"cannot list {where}: {_reason(error)}") from error

    def _delete_versions(
        self, prefix: str, paths: Sequence[str], named: Mapping[str, Named], made: dict[str, str]
    ) -> Iterator[DeleteOutcome]:
        """As :meth:`delete`, by what names the version of some paths; says which delete markers were made."""
        batch = partial(self._delete_batch, named=named, made=made)
        return deleted(prefix, paths, batch, partial(self._delete_one, named=named, made=made))

    def _delete_batch(
        self,
        prefix: str,
        paths: Sequence[str],
        stopped: threading.Event,
        named: Mapping[str, Named] | None = None,
        made: dict[str, str] | None = None,
    ) -> Iterator[DeleteOutcome]:
        def ask(asked_for: Mapping[str, Any]) -> Mapping[str, Any]:
            with asking(), self._limits.slot(prefix, stopped):
                answer: Mapping[str, Any] = self._client.delete_objects(Bucket=self._bucket, Delete=asked_for)
                if is_throttled(answer):
                    self._limits.throttled()
            if made is not None:
                done = answer.get("Deleted", ())
                made.update({each["Key"].removeprefix(prefix): each.get("DeleteMarkerVersionId", "") for each in done})
            return answer

        return answered(prefix, paths, ask, _reason, Patience(patience_of(self._properties), stopped), named)

    def _delete_one(
        self,
        prefix: str,
        path: str,
        named: Mapping[str, Named] | None = None,
        made: dict[str, str] | None = None,
    ) -> DeleteOutcome:
        more = dict((named or {}).get(path, {}))
        if "ETag" in more:
            more["IfMatch"] = more.pop("ETag")
        try:
            with asking(), self._limits.slot(prefix):
                answer = self._client.delete_object(Bucket=self._bucket, Key=prefix + path, **more)
        except ClientError as error:
            if _code(error) in GONE:
                return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
            return failed(path, with_s3_right(_reason(error), _code(error), right_to_delete(more)))
        except (BotoCoreError, NessieGcError, ValueError) as error:  # ValueError: a key that no request can carry
            return failed(path, error)
        if made is not None:
            made[path] = answer.get("VersionId", "")
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _reason(error: Exception) -> str:
    if isinstance(error, ClientError):
        found = error.response.get("Error", {})
        return one_line(f"{found.get('Code')}: {found.get('Message')}")
    return one_line(error) or type(error).__name__
