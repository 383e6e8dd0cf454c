"""One GCS bucket, through the JSON API as gcsfs calls it: raw keys, streamed pages, one deletion per file."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

# Else gcsfs asks a gRPC service for each bucket's type and waits a minute where that cannot be reached.
os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")

from fsspec.asyn import sync
from gcsfs.core import simple_upload
from gcsfs.retry import HttpError
from google.auth.exceptions import GoogleAuthError
from pyiceberg.io.fsspec import FsspecFileIO

from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    ListingError,
    NessieGcError,
    ServiceUnavailableError,
)
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.clocks import from_date_header
from nessie_gc_iceberg_files.concurrency import gathered
from nessie_gc_iceberg_files.gcs_moves import GcsMoves
from nessie_gc_iceberg_files.gcs_reads import gcs_reads, is_answer_of_gcs
from nessie_gc_iceberg_files.gcs_requests import safe
from nessie_gc_iceberg_files.gcs_versions import GcsVersions
from nessie_gc_iceberg_files.quick_reads import QuickReads
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, failed, granting, one_line, unmoved
from nessie_gc_iceberg_files.traffic import asking

log = logging.getLogger(__name__)

_PROJECT = "gcs.project-id"
_REQUESTER_PAYS = "gcs.requester-pays"
_FIELDS = "nextPageToken,prefixes,items(name,size,updated)"


class GcsStore(Store):
    """Credentials and endpoint come from the ``gcs.*`` properties, as PyIceberg understands them."""

    can_move = True

    def __init__(self, bucket: str, properties: Mapping[str, str]) -> None:
        self._bucket = bucket
        self._fs: Any = FsspecFileIO(_with_project(properties)).get_fs("gs")  # fsspec has no types
        self._reads = QuickReads(partial(gcs_reads, bucket, self._fs), is_answer_of_gcs)

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """One GET; gcsfs has the last word where a key is odd, or the quick client did not get the object."""
        return self._reads.read_or_ask(key, self._read, limit)

    def _read(self, key: str) -> bytes:
        """One GET, which gives the whole; GCS answers 404 for a missing bucket too, which is not a missing file."""
        try:
            return bytes(self._fs.call("GET", "b/{}/o/{}", self._bucket, safe(key), alt="media")[1])
        except FileNotFoundError as error:
            self._first_page(key)
            raise FileNotFoundError(key) from error
        except ValueError as error:
            raise OSError(str(error)) from error

    def create(self, key: str, data: bytes) -> None:
        """One upload, which GCS refuses where there is such a name."""
        try:
            with asking():
                sync(self._fs.loop, simple_upload, self._fs, self._bucket, safe(key), data, mode="create")
        except Exception as error:
            if isinstance(error, HttpError) and str(error.code) == "412":
                raise FileExistsError(key) from error
            raise OSError(_reason(error, "storage.objects.create")) from error

    def files(self, prefix: str) -> Iterator[StoredFile]:
        """Pages of the objects list."""
        for page in self._pages(prefix):
            yield from map(_stored, page.get("items", ()))

    def level(self, prefix: str, limit: int | None) -> Level | None:
        """The objects list with a delimiter."""
        files: list[StoredFile] = []
        prefixes: list[str] = []
        for page in self._pages(prefix, delimiter="/"):
            files.extend(map(_stored, page.get("items", ())))
            prefixes.extend(page.get("prefixes", ()))
            if limit is not None and len(files) + len(prefixes) > limit:
                return None
        return Level(files, prefixes)

    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """Single deletions, several at a time."""
        with asking(len(paths)):
            outcomes = sync(self._fs.loop, gathered, [self._delete_one(prefix, path) for path in paths])
        yield from outcomes

    def move(self, prefix: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """Rewritten by the server, several at a time."""
        requests = GcsMoves(self._bucket, self._fs._call, self._delete_one)
        odd = [move for move in moves if {prefix + move.path, to + move.to_path} & {".", ".."}]
        yield from (unmoved(move, "no request can carry its key") for move in odd)
        with asking(4 * len(moves)):
            found = sync(self._fs.loop, requests.move_all, prefix, to, [move for move in moves if move not in odd])
        yield from found

    def versions(self) -> GcsVersions:
        """Through the same client."""
        return GcsVersions(self._bucket, self._fs)

    def now(self, prefix: str) -> datetime:
        """The Date header of a listing of one key."""
        where = f"gs://{self._bucket}/{prefix}"
        try:
            headers, _ = self._fs.call("GET", "b/{}/o", self._bucket, prefix=prefix, maxResults=1)
        except Exception as error:
            raise _listing_error(where, error) from error
        return from_date_header(headers.get("Date"), where)

    def keeps_versions(self) -> bool | None:
        """The bucket's own settings."""
        try:
            bucket = self._fs.call("GET", "b/{}", self._bucket, fields="versioning", json_out=True)
        except Exception as error:  # noqa: BLE001 - gcsfs raises many kinds, and whatever it is, it is not known
            log.debug("the versioning of gs://%s cannot be read: %s", self._bucket, one_line(error))
            return None
        return bool((bucket.get("versioning") or {}).get("enabled"))

    def _pages(self, prefix: str, **more: str) -> Iterator[Mapping[str, Any]]:
        token: str | None = None
        while True:
            try:
                with asking():
                    page = self._fs.call(
                        "GET",
                        "b/{}/o",
                        self._bucket,
                        prefix=prefix,
                        pageToken=token,
                        maxResults=1000,
                        fields=_FIELDS,
                        json_out=True,
                        **more,
                    )
            except Exception as error:
                raise _listing_error(f"gs://{self._bucket}/{prefix}", error) from error
            yield page
            token = page.get("nextPageToken")
            if not token:
                return

    def _first_page(self, prefix: str) -> None:
        try:
            self._fs.call("GET", "b/{}/o", self._bucket, prefix=prefix, maxResults=1, json_out=True)
        except Exception as error:  # noqa: BLE001 - gcsfs raises many kinds, and the first error is the answer
            # Not chained: the cause says "not found" of the bucket, and would be taken for the file's.
            raise OSError(f"it was not found, and neither was its bucket: {one_line(error)}") from None

    async def _delete_one(self, prefix: str, path: str) -> DeleteOutcome:
        try:
            await self._fs._call("DELETE", "b/{}/o/{}", self._bucket, safe(prefix + path))
        except FileNotFoundError:
            return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
            return failed(path, _reason(error, "storage.objects.delete"))
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)


def _with_project(properties: Mapping[str, str]) -> dict[str, str]:
    """A project, which gcsfs warns about if there is none, though only paying for requests needs it."""
    made = dict(properties)
    if _PROJECT not in made:
        if made.get(_REQUESTER_PAYS, "false").lower() == "true":
            raise ConfigurationError(f"{_REQUESTER_PAYS} needs a project to bill: set {_PROJECT}")
        made[_PROJECT] = os.environ.get("GOOGLE_CLOUD_PROJECT", "none")
    return made


def _stored(item: Mapping[str, Any]) -> StoredFile:
    modified, size = item.get("updated"), item.get("size")
    return StoredFile.at(
        item["name"],
        None if size is None else int(size),
        datetime.fromisoformat(modified).astimezone(UTC) if modified else None,
    )


def _listing_error(where: str, error: Exception) -> NessieGcError:
    text = f"cannot list {where}: {_reason(error, 'storage.objects.list')}"
    code = _code(error)
    if isinstance(error, GoogleAuthError) or code == "401" or _is_forbidden(error):
        return AccessDeniedError(text)
    if isinstance(error, FileNotFoundError):
        return ListingError(f"cannot list {where}: the bucket does not exist")
    is_refused = isinstance(error, ValueError) or (code.startswith("4") and code != "429")
    return ListingError(text) if is_refused else ServiceUnavailableError(text)


def _code(error: Exception) -> str:
    return str(error.code) if isinstance(error, HttpError) else ""


def _is_forbidden(error: Exception) -> bool:
    return _code(error) == "403" or str(error).startswith("Forbidden")


def _reason(error: Exception, right: str) -> str:
    """What went wrong, and where it is a refusal, the right to grant."""
    said = one_line(error) or type(error).__name__
    return granting(said, right) if _is_forbidden(error) else said
