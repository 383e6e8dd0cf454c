"""One bucket or server, through whatever file system fsspec has for it: directory by directory, with exact names."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, NoReturn

from fsspec.asyn import sync
from fsspec.dircache import DirCache

from nessie_gc_core.errors import AccessDeniedError, ListingError, NessieGcError, ServiceUnavailableError
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.concurrency import gathered
from nessie_gc_iceberg_files.fsspec_entries import Entry, entry_of, kind_of, outcome_of, reason_of
from nessie_gc_iceberg_files.fsspec_paths import Paths
from nessie_gc_iceberg_files.stores import Level, Store, StoredFile, failed
from nessie_gc_iceberg_files.traffic import asking

_LOG = logging.getLogger(__name__)
_PATTERN = re.compile(r"[*?\[]")
_AT_ONCE = 200
"""So many files are under way to be deleted at most; the answers of more would wait in memory."""


class FsspecStore(Store):
    """Only calls that name one directory or one file are made; none is recursive, and none takes patterns.

    What fsspec gives is not believed as it is: a name that does not lie directly in the directory that was asked for,
    that comes twice, or that would not arrive at the store as it is written, is an error of the listing (S4, S5). A
    file is gone when it is not found any more.

    Asynchronous file systems are used from several threads at once, as fsspec promises; of all others nobody knows
    whether they may be, so these answer one call after the other.
    """

    has_folders: ClassVar[bool] = True
    _threads: ClassVar[int] = 1
    """How many files are deleted at a time, unless the file system is asynchronous."""

    def __init__(
        self, file_system: Any, root: str, *, where: str, is_bucket: bool, secrets: Sequence[str] = ()
    ) -> None:
        """Takes a file system that nobody else lists with.

        Args:
            file_system: fsspec's; it has no types.
            root: what comes before every key in its paths.
            where: the store's own location, for messages.
            is_bucket: whether the first element is a bucket, whose absence is an error.
            secrets: texts that no error may show, whatever a library quotes.
        """
        self._fs = file_system
        self._fs.dircache = DirCache(use_listings_cache=False)
        self._paths = Paths(file_system, root)
        self._where = where
        self._secrets = tuple(secrets)
        self._is_bucket = is_bucket
        self._is_async = bool(getattr(file_system, "async_impl", False))
        self._one_at_a_time = threading.Lock()
        self._left_alone = threading.local()

    # ---- reading --------------------------------------------------------------------------------------
    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """The whole file, whatever its size; a bucket that is missing is not a missing file."""
        try:
            return self._read(self._paths.of(key))
        except FileNotFoundError as error:
            self._check_bucket(OSError)
            raise FileNotFoundError(key) from error
        except Exception as error:  # noqa: BLE001 - whatever a file system raises means the same: not read
            raise OSError(self._reason(error)) from None

    def create(self, key: str, data: bytes) -> None:
        """Creates a file; fails if it exists, where the file system can tell."""
        try:
            path = self._paths.of(key)
            if self._kind(path) is not None:
                raise FileExistsError(key)
            self._write(path, data)
        except FileExistsError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a file system raises means the same: not written
            raise OSError(self._reason(error)) from None

    # ---- listing --------------------------------------------------------------------------------------
    def files(self, prefix: str) -> Iterator[StoredFile]:
        """All files, one directory after the other."""
        pending, listing = [prefix], _Listing()
        while pending:
            current = pending.pop()
            for name, entry in self._named(current, listing, is_base=current == prefix):
                if entry.kind == "directory":
                    pending.append(f"{current}{name}/")
                else:
                    yield StoredFile.at(current + name, entry.size, entry.modified)

    def level(self, prefix: str, limit: int | None) -> Level | None:
        """One directory."""
        files: list[StoredFile] = []
        prefixes: list[str] = []
        for name, entry in self._named(prefix, _Listing(), is_base=True):
            if limit is not None and len(files) + len(prefixes) >= limit:
                return None
            if entry.kind == "directory":
                prefixes.append(f"{prefix}{name}/")
            else:
                files.append(StoredFile.at(prefix + name, entry.size, entry.modified))
        return Level(files, prefixes)

    def take_left_alone(self) -> int:
        """Links, and what is neither a file nor a directory."""
        taken: int = getattr(self._left_alone, "count", 0)
        self._left_alone.count = 0
        return taken

    def now(self, prefix: str) -> datetime:
        """Fsspec has no clock, and nothing is written to find out."""
        raise ServiceUnavailableError(f"fsspec does not report the time of {self._where}")

    def _named(self, prefix: str, listing: _Listing, *, is_base: bool) -> Iterator[tuple[str, Entry]]:
        """The files and directories directly below a prefix, with their names; all are checked before one is given."""
        where = self._where + prefix
        folder = self._folder(prefix)
        try:
            if is_base:
                self._check_base(prefix)
            with asking():
                entries = self._entries(folder)
        except FileNotFoundError:
            self._missing(prefix, is_base=is_base)
            return
        except Exception as error:  # noqa: BLE001 - file systems raise many kinds, and each ends the listing
            self._raise_listing_error(where, error)
        named = [(name, entry) for entry in entries if (name := self._name(where, folder, entry)) is not None]
        self._check_names(where, prefix, named)
        if not listing.tells_case and not self._is_bucket:
            listing.tells_case = self._check_case(where, folder, {name for name, _ in named})
        for name, entry in named:
            kept = self._kept(entry)
            if kept is None:
                _LOG.info("skipped: %r is a link, or neither a file nor a directory", entry.path)
                self._left_alone.count = getattr(self._left_alone, "count", 0) + 1
            else:
                yield name, kept

    def _name(self, where: str, folder: str, entry: Entry) -> str | None:
        """The name of an entry in its directory; ``None``: it is the mark of the directory itself.

        Raises:
            ListingError: it lies elsewhere, or is a name that the file system made.
        """
        path = entry.path.removesuffix("/") if entry.kind == "directory" else entry.path
        if path in (folder, f"{folder}/"):
            if entry.kind == "file" and not entry.size and self._is_bucket:
                return None
            raise ListingError(f"cannot list {where}: fsspec lists it as an entry of itself")
        inside = folder if folder.endswith("/") else f"{folder}/"
        name = path.removeprefix(inside)
        if name == path or "/" in name:
            raise ListingError(f"the listing of {where} returned {entry.path!r}, which is not directly inside it")
        return name

    def _check_names(self, where: str, prefix: str, named: Sequence[tuple[str, Entry]]) -> None:
        """Refuses a directory with a name that cannot be asked for as it is, or of which there are two (S4)."""
        seen = set[tuple[str, bool]]()
        for name, entry in named:
            try:
                self._paths.of(prefix + name)
            except ValueError as error:
                raise ListingError(f"cannot list {where}: {error}") from error
            known = (name, entry.kind == "directory")
            if known in seen:
                raise ListingError(f"cannot list {where}: fsspec gives the name {name!r} twice")
            seen.add(known)

    def _check_case(self, where: str, folder: str, names: set[str]) -> bool:
        """Refuses a server that takes capital and small letters for the same; whether that could be told.

        A file whose metadata has its name in another case would be found nowhere in the listing, and be deleted.
        """
        other = next((name.swapcase() for name in names if name.swapcase().swapcase() == name != name.swapcase()), None)
        if other is None:
            return False
        try:
            found = other not in names and self._kind(f"{folder.removesuffix('/')}/{other}") is not None
        except Exception as error:  # noqa: BLE001 - file systems raise many kinds
            self._raise_listing_error(where, error)
        if found:
            raise ListingError(f"cannot list {where}: to the server, {other!r} is the same name")
        return True

    def _missing(self, prefix: str, *, is_base: bool) -> None:
        """A directory was not found: it never was, or went while the listing ran, which is not an error."""
        if self._is_bucket:
            self._check_bucket(ListingError)
        if is_base or not prefix:
            return
        above, _, name = prefix.removesuffix("/").rpartition("/")
        folder = self._folder(f"{above}/" if above else "")
        try:
            still = [entry.path.removesuffix("/").rpartition("/")[2] for entry in self._entries(folder)]
        except FileNotFoundError:
            return
        except Exception as error:  # noqa: BLE001 - file systems raise many kinds
            self._raise_listing_error(self._where + prefix, error)
        if name in still:
            raise ListingError(f"cannot list {self._where}{prefix}: it is listed, but not found")

    def _check_bucket(self, kind: type[Exception]) -> None:
        if not self._is_bucket:
            return
        try:
            self._call("ls", self._paths.root.strip("/"), detail=True)
        except Exception as error:  # noqa: BLE001 - file systems raise many kinds; without a bucket nothing is known
            # Not chained: the cause says "not found" of the bucket, and would be taken for the file's.
            raise kind(f"cannot list {self._where}: {self._reason(error)}") from None

    def _folder(self, prefix: str) -> str:
        try:
            return self._paths.folder(prefix)
        except ValueError as error:
            raise ListingError(f"cannot list {self._where}{prefix}: {error}") from error

    def _raise_listing_error(self, where: str, error: Exception) -> NoReturn:
        if isinstance(error, NessieGcError):
            raise error
        text = f"cannot list {where}: {self._reason(error)}"
        if isinstance(error, PermissionError):
            raise AccessDeniedError(text) from None
        if isinstance(error, ConnectionError | TimeoutError | EOFError):
            raise ServiceUnavailableError(text) from None
        raise ListingError(text) from None

    def _reason(self, error: BaseException) -> str:
        return reason_of(error, self._secrets)

    # ---- deleting -------------------------------------------------------------------------------------
    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """One file at a time, or several where the file system can; each is asked for before and after."""
        for start in range(0, len(paths), _AT_ONCE):
            batch = paths[start : start + _AT_ONCE]
            if self._is_async:
                with asking(len(batch)):
                    outcomes = sync(self._fs.loop, gathered, [self._delete_async(prefix, path) for path in batch])
            else:
                with asking(len(batch)), ThreadPoolExecutor(self._threads) as pool:
                    outcomes = [*pool.map(partial(self._delete_one, prefix, passed=set()), batch)]
            yield from outcomes

    def _delete_one(self, prefix: str, path: str, *, passed: set[str]) -> DeleteOutcome:
        try:
            full = self._to_delete(prefix + path)
            if not self.is_reached(prefix, (prefix + path).rpartition("/")[0], passed):
                return failed(path, "a parent directory is a link or not a directory")
            kind = self._kind_to_delete(full)
            if kind != "file":
                return outcome_of(path, kind, is_done=False)
            self._remove(full)
            return outcome_of(path, self._kind_to_delete(full), is_done=True)
        except FileNotFoundError:
            return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
            return failed(path, self._reason(error))

    async def _delete_async(self, prefix: str, path: str) -> DeleteOutcome:
        try:
            full = self._to_delete(prefix + path)
            kind = await self._kind_async(full)
            if kind != "file":
                return outcome_of(path, kind, is_done=False)
            await self._fs._rm_file(full)
            return outcome_of(path, await self._kind_async(full), is_done=True)
        except FileNotFoundError:
            return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is this file's failure
            return failed(path, self._reason(error))

    def _to_delete(self, key: str) -> str:
        """The path of a key that is to be deleted; some file systems take patterns even where one file is meant."""
        if self._is_bucket and _PATTERN.search(key):
            raise ValueError("fsspec may treat its name as a pattern")
        return self._paths.of(key)

    async def _kind_async(self, path: str) -> str | None:
        try:
            return kind_of(path, await self._fs._info(path))
        except FileNotFoundError:
            return None

    def is_reached(self, prefix: str, folder: str, passed: set[str] | None = None) -> bool:
        """Whether no link is on the way from the root (S24); ``passed`` has the directories asked about before."""
        above, passed = folder.removesuffix("/"), set() if passed is None else passed
        while not self._is_bucket and above and above not in passed:
            if self._kind(self._paths.of(above)) not in ("directory", None):
                return False
            passed.add(above)
            above = above.rpartition("/")[0]
        return True

    # ---- what other file systems do in their own way ----------------------------------------------------
    def _call(self, name: str, *arguments: object, **named: object) -> Any:
        call: Callable[..., Any] = getattr(self._fs, name)
        if self._is_async:
            return call(*arguments, **named)
        with self._one_at_a_time:
            return call(*arguments, **named)

    def _check_base(self, prefix: str) -> None:
        """Refuses a base that is reached through a link, whose files belong to another location."""
        elements = prefix.removesuffix("/").split("/")
        for count in range(1, len(elements) + 1 if prefix and not self._is_bucket else 1):
            path = self._paths.of("/".join(elements[:count]))
            kind = self._kind(path)
            if kind is None:
                return
            if kind == "link":
                raise ListingError(f"{self._where}{prefix} is reached through the link {path!r}: use the link's target")
            if kind != "directory":
                raise ListingError(f"cannot list {self._where}{prefix}: {path!r} is not a directory")

    def _entries(self, folder: str) -> Sequence[Entry]:
        return [entry_of(found) for found in self._call("ls", folder, detail=True)]

    def _kept(self, entry: Entry) -> Entry | None:
        """What is listed of an entry; ``None``: it is left alone."""
        return entry if entry.kind in ("file", "directory") else None

    def _kind(self, path: str) -> str | None:
        """What a path is; ``None``: nothing."""
        try:
            found: Mapping[str, Any] = self._call("info", path)
        except FileNotFoundError:
            return None
        return entry_of(found).kind

    def _kind_to_delete(self, path: str) -> str | None:
        """The same of what is to be deleted, and of nothing else; a link may stand for a file."""
        try:
            return kind_of(path, self._call("info", path))
        except FileNotFoundError:
            return None

    def _read(self, path: str) -> bytes:
        return bytes(self._call("cat_file", path))

    def _write(self, path: str, data: bytes) -> None:
        self._call("pipe_file", path, data)

    def _remove(self, path: str) -> None:
        self._call("rm_file", path)


class _Listing:
    """What one listing knows already."""

    tells_case = False
