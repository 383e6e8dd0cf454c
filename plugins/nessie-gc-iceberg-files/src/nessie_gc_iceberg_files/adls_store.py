"""One ADLS or blob container, through the SDK's client as adlfs makes it: raw names, streamed pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

from azure.core.exceptions import (
    AzureError,
    ClientAuthenticationError,
    HttpResponseError,
    ResourceExistsError,
    ResourceNotFoundError,
)
from fsspec.asyn import sync
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
from nessie_gc_iceberg_files.adls_account import account_properties, check_account
from nessie_gc_iceberg_files.adls_moves import AdlsMoves
from nessie_gc_iceberg_files.adls_reads import adls_reads
from nessie_gc_iceberg_files.clocks import from_date_header
from nessie_gc_iceberg_files.concurrency import gathered
from nessie_gc_iceberg_files.quick_reads import QuickReads, is_unpacked
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, failed, granting, one_line
from nessie_gc_iceberg_files.traffic import asking, each_asked

_PAGE = 1000
_MISSING_BLOB = frozenset({"BlobNotFound", "PathNotFound"})
_NOT_AUTHORIZED = frozenset(
    {"AuthorizationFailure", "AuthorizationPermissionMismatch", "InsufficientAccountPermissions"}
)
"""Codes that say that an account is known, and may not do this."""
_RIGHTS = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
_DIRECTORY_MARK = "hdi_isfolder"


class AdlsStore(Store):
    """Credentials and endpoint come from the ``adls.*`` properties, as PyIceberg understands them."""

    can_move = True

    def __init__(self, authority: str, properties: Mapping[str, str]) -> None:
        container, _, host = authority.partition("@")
        self._where = f"abfs://{authority}/"
        try:
            file_io = FsspecFileIO(account_properties(host, properties))
            self._fs: Any = file_io.get_fs("abfs")  # fsspec has no types
            self._container: Any = self._fs.service_client.get_container_client(container)
            check_account(host, self._fs.service_client.account_name)
        except ConfigurationError:
            raise
        except Exception as error:  # adlfs raises many kinds on missing or wrong credentials
            raise ConfigurationError(f"cannot create a client for {self._where}: {one_line(error)}") from error
        self._reads = QuickReads(partial(adls_reads, container, self._fs), is_unpacked)

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """One download; the SDK has the last word where a name is odd, or the quick client did not get the blob."""
        return self._reads.read_or_ask(key, partial(self._read, limit=limit), limit)

    def _read(self, key: str, limit: Limit | None = None) -> bytes:
        try:
            return bytes(sync(self._fs.loop, self._download, key, limit))
        except ResourceNotFoundError as error:
            if _code(error) in _MISSING_BLOB:
                raise FileNotFoundError(key) from error
            raise OSError(_reason(error)) from error
        except AzureError as error:
            raise OSError(_refusal(error, "read")) from error

    def create(self, key: str, data: bytes) -> None:
        """One upload, which the service refuses where there is such a name."""
        try:
            with asking():
                sync(self._fs.loop, self._upload, key, data)
        except ResourceExistsError as error:
            raise FileExistsError(key) from error
        except (AzureError, ValueError) as error:  # ValueError: a name that no request can carry
            raise OSError(_refusal(error, "write")) from error

    def files(self, prefix: str) -> Iterator[StoredFile]:
        """Pages of the blob list; directories of hierarchical accounts are left out."""
        for page in self._pages(prefix, self._container.list_blobs):
            yield from (_stored(item) for item in page if not _is_directory(item))

    def level(self, prefix: str, limit: int | None) -> Level | None:
        """The blob list with a delimiter."""
        files: list[StoredFile] = []
        prefixes: list[str] = []
        for page in self._pages(prefix, self._container.walk_blobs):
            for item in page:
                if "size" not in item:
                    prefixes.append(item.name)
                elif not _is_directory(item):
                    files.append(_stored(item))
            if limit is not None and len(files) + len(prefixes) > limit:
                return None
        return Level(files, prefixes)

    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """Single deletions, several at a time."""
        with asking(len(paths)):
            outcomes = sync(self._fs.loop, gathered, [self._delete_one(prefix, path) for path in paths])
        yield from outcomes

    def move(self, prefix: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """Copied by the service, several at a time."""
        requests = AdlsMoves(self._container, self._delete_one, _is_directory, _reason)
        with asking(4 * len(moves)):
            outcomes = sync(self._fs.loop, requests.move_all, prefix, to, moves)
        yield from outcomes

    def refusals(self, prefix: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Blobs with the mark of a directory, as hierarchical accounts hold them; asks for each."""
        asked = sync(self._fs.loop, gathered, [self._refusal(prefix + path) for path in paths])
        return {path: reason for path, reason in zip(paths, asked, strict=True) if reason}

    def now(self, prefix: str) -> datetime:
        """The Date header of a listing of one name."""
        headers: dict[str, str] = {}
        found = self._container.list_blobs(
            name_starts_with=prefix,
            results_per_page=1,
            raw_response_hook=lambda answer: headers.update(answer.http_response.headers),
        )
        next(self._walk(prefix, found), None)
        date = next((value for name, value in headers.items() if name.lower() == "date"), None)
        return from_date_header(date, self._where + prefix)

    async def _download(self, key: str, limit: Limit | None) -> bytes:
        stream = await self._container.get_blob_client(key).download_blob()
        if limit is not None:
            limit.check_stored(stream.size)
        return cast("bytes", await stream.readall())

    async def _upload(self, key: str, data: bytes) -> None:
        await self._container.get_blob_client(key).upload_blob(data, overwrite=False)

    def _pages(self, prefix: str, listing: Any) -> Iterator[Sequence[Any]]:
        return self._walk(prefix, listing(name_starts_with=prefix, include=["metadata"], results_per_page=_PAGE))

    def _walk(self, prefix: str, listing: Any) -> Iterator[Sequence[Any]]:
        pages = listing.by_page()
        try:
            yield from each_asked(iter(lambda: sync(self._fs.loop, _next_page, pages), None))
        except AzureError as error:
            raise _listing_error(self._where + prefix, error) from error

    async def _refusal(self, key: str) -> str:
        try:
            found = await self._container.get_blob_client(key).get_blob_properties()
        except ResourceNotFoundError:
            return ""
        except Exception as error:  # noqa: BLE001 - whatever it is, nobody knows what the blob is
            return f"cannot tell whether it is a directory: {_reason(error)}"
        return "it is a directory" if _is_directory(found) else ""

    async def _delete_one(self, prefix: str, path: str) -> DeleteOutcome:
        try:
            await self._container.get_blob_client(prefix + path).delete_blob()
        except ResourceNotFoundError as error:
            if _code(error) in _MISSING_BLOB:
                return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
            return failed(path, _reason(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
            return failed(path, _refusal(error, "delete"))
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)


async def _next_page(pages: AsyncIterator[AsyncIterator[Any]]) -> list[Any] | None:
    try:
        page = await anext(pages)
    except StopAsyncIteration:
        return None
    return [item async for item in page]


def _listing_error(where: str, error: AzureError) -> NessieGcError:
    text = f"cannot list {where}: {_refusal(error, 'read')}"
    status = error.status_code if isinstance(error, HttpResponseError) else None
    if isinstance(error, ClientAuthenticationError) or status in (401, 403):
        return AccessDeniedError(text)
    is_refused = status is not None and 400 <= status < 500
    return ListingError(text) if is_refused else ServiceUnavailableError(text)


def _is_directory(item: Any) -> bool:
    """Hierarchical accounts list directories as empty blobs with a mark; deleting one is not our business (S22)."""
    metadata = {name.lower(): value for name, value in (item.metadata or {}).items()}
    return str(metadata.get(_DIRECTORY_MARK, "")).lower() == "true"


def _stored(item: Any) -> StoredFile:
    modified = item.last_modified
    return StoredFile.at(item.name, item.size, modified.astimezone(UTC) if modified else None)


def _code(error: BaseException) -> str:
    return str(getattr(error, "error_code", None) or "")


def _reason(error: BaseException) -> str:
    """The service's code and the first line of its message; the rest repeats headers."""
    code = _code(error)
    first = str(error).strip().split("\n", 1)[0]
    return one_line(f"{code}: {first}" if code else first or type(error).__name__)


def _refusal(error: BaseException, right: str) -> str:
    """What went wrong, and where the account may not do this, the right to grant."""
    is_refused = isinstance(error, HttpResponseError) and _code(error) in _NOT_AUTHORIZED
    return granting(_reason(error), f"{_RIGHTS}{right}") if is_refused else _reason(error)
