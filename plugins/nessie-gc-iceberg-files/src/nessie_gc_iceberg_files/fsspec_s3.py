"""One S3 bucket through s3fs: its own requests, with raw keys, page by page, and an answer for each deleted key."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from fsspec.asyn import sync

from nessie_gc_core.errors import AccessDeniedError, ListingError, NessieGcError, ServiceUnavailableError
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.unpacking import Limit, TooMuchError
from nessie_gc_iceberg_files.clocks import from_date_header
from nessie_gc_iceberg_files.limits import Patience
from nessie_gc_iceberg_files.s3_deletions import DENIED, EXISTS, GONE, answered, deleted
from nessie_gc_iceberg_files.s3_pages import level_of, objects_of
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, failed, one_line
from nessie_gc_iceberg_files.traffic import asking

log = logging.getLogger(__name__)


class S3fsStore(Store):
    """Past what s3fs makes of paths: it cuts them at ``?versionId=`` and drops slashes. Its requests take any key."""

    def __init__(self, file_system: Any, bucket: str) -> None:
        """Takes an ``S3FileSystem``, which has no types."""
        self._fs = file_system
        self._bucket = bucket

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """One GET."""
        try:
            return bytes(sync(self._fs.loop, self._get, key, limit))
        except TooMuchError:
            raise
        except Exception as error:
            if _code(error) == "NoSuchKey":
                raise FileNotFoundError(key) from error
            # Not chained: s3fs says "not found" of a missing bucket too.
            raise OSError(_reason(error)) from None

    def create(self, key: str, data: bytes) -> None:
        """One PUT, which S3 refuses where there is such a key."""
        try:
            with asking():
                self._call("put_object", Key=key, Body=data, IfNoneMatch="*")
        except Exception as error:
            if _code(error) == EXISTS:
                raise FileExistsError(key) from error
            raise OSError(_reason(error)) from None

    def files(self, prefix: str) -> Iterator[StoredFile]:
        """Pages of ListObjectsV2."""
        for page in self._pages(prefix):
            yield from objects_of(page)

    def level(self, prefix: str, limit: int | None) -> Level | None:
        """ListObjectsV2 with a delimiter."""
        return level_of(self._pages(prefix, Delimiter="/"), limit)

    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """DeleteObjects for up to 1,000 keys; single deletes for keys that XML cannot carry."""
        return deleted(prefix, paths, self._delete_batch, self._delete_one)

    def now(self, prefix: str) -> datetime:
        """The Date header of a listing of one key; a refusal has one too."""
        where = f"s3://{self._bucket}/{prefix}"
        try:
            answer = self._call("list_objects_v2", Prefix=prefix, MaxKeys=1)
        except Exception as error:
            refusal = getattr(_client_error(error), "response", None)
            if refusal is None:
                raise self._listing_error(prefix, error) from error
            answer = refusal
        return from_date_header(answer["ResponseMetadata"]["HTTPHeaders"].get("date"), where)

    def keeps_versions(self) -> bool | None:
        """GetBucketVersioning; suspended means that what was written before still leaves a version behind."""
        try:
            return "Status" in self._call("get_bucket_versioning")
        except Exception as error:  # noqa: BLE001 - s3fs raises many kinds, and whatever it is, it is not known
            log.debug("the versioning of s3://%s cannot be read: %s", self._bucket, _reason(error))
            return None

    def _call(self, method: str, **named: object) -> dict[str, Any]:
        answer: dict[str, Any] = self._fs.call_s3(method, Bucket=self._bucket, **named)
        return answer

    async def _get(self, key: str, limit: Limit | None) -> bytes:
        answer = await self._fs._call_s3("get_object", Bucket=self._bucket, Key=key)
        async with answer["Body"] as body:
            if limit is not None:
                limit.check_stored(answer["ContentLength"])
            found: bytes = await body.read()
        return found

    def _pages(self, prefix: str, **more: str) -> Iterator[dict[str, Any]]:
        token: dict[str, str] = {}
        while True:
            try:
                with asking():
                    page = self._call("list_objects_v2", Prefix=prefix, **more, **token)
            except Exception as error:
                raise self._listing_error(prefix, error) from error
            yield page
            if not page.get("IsTruncated"):
                return
            if not page.get("NextContinuationToken"):
                raise ListingError(
                    f"cannot list s3://{self._bucket}/{prefix}: there are more pages, but no token to request them"
                )
            token = {"ContinuationToken": page["NextContinuationToken"]}

    def _listing_error(self, prefix: str, error: Exception) -> NessieGcError:
        text = f"cannot list s3://{self._bucket}/{prefix}: {_reason(error)}"
        answer = getattr(_client_error(error), "response", None)
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if answer else 0
        if _code(error) in DENIED or status in (401, 403) or type(error).__name__ == "NoCredentialsError":
            return AccessDeniedError(text)
        if answer is None or _code(error) == "SlowDown" or status >= 500:
            return ServiceUnavailableError(text)
        return ListingError(text)

    def _delete_batch(self, prefix: str, paths: Sequence[str], stopped: threading.Event) -> Iterator[DeleteOutcome]:
        return answered(prefix, paths, self._delete_objects, _reason, Patience(stopped=stopped))

    def _delete_objects(self, asked_for: Mapping[str, Any]) -> Mapping[str, Any]:
        with asking():
            return self._call("delete_objects", Delete=asked_for)

    def _delete_one(self, prefix: str, path: str) -> DeleteOutcome:
        try:
            with asking():
                self._call("delete_object", Key=prefix + path)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
            if _code(error) in GONE:
                return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
            return failed(path, _reason(error))
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)


def _client_error(error: BaseException) -> BaseException:
    """What botocore said: s3fs turns it into errors of the system, and keeps it as their cause."""
    return error if hasattr(error, "response") or error.__cause__ is None else error.__cause__


def _code(error: BaseException) -> str:
    answer = getattr(_client_error(error), "response", None)
    return str(answer.get("Error", {}).get("Code", "")) if answer else ""


def _reason(error: BaseException) -> str:
    answer = getattr(_client_error(error), "response", None)
    if answer:
        found = answer.get("Error", {})
        return one_line(f"{found.get('Code')}: {found.get('Message')}")
    return one_line(error) or type(error).__name__
