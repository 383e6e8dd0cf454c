"""The contract of file listers: what is stored under a location."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol, runtime_checkable

import pyarrow as pa

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.files import FileReference


class FileLister(Connector):
    """Lists a location recursively: files only, never directories or directory markers.

    Example of a whole plugin::

        import os
        from datetime import UTC, datetime
        from nessie_gc_core import hookimpl
        from nessie_gc_core.connectors import FileLister
        from nessie_gc_core.errors import ListingError
        from nessie_gc_core.model import FileReference

        class DiskLister(FileLister):
            name = "disk"
            schemes = frozenset({"disk"})

            def list_files(self, location):
                def stop(error):
                    if not isinstance(error, FileNotFoundError):
                        raise ListingError(f"cannot list {location}: {error.strerror}") from error

                base = location.removeprefix("disk://")
                for folder, _, names in os.walk(base, onerror=stop):
                    for path in (os.path.join(folder, name) for name in names):
                        found = os.lstat(path)
                        modified = datetime.fromtimestamp(found.st_mtime, UTC)
                        path = path.removeprefix(base)
                        yield FileReference(location=location, path=path, size=found.st_size, modified=modified)

        @hookimpl
        def nessie_gc_register_file_lister():
            return DiskLister

    """

    schemes: ClassVar[frozenset[str]]
    """The URI schemes that it lists, lower case; an absolute path without a scheme is ``file``."""
    fallback_schemes: ClassVar[frozenset[str]] = frozenset()
    """More URI schemes that it lists, lower case, unless another connector has them in ``schemes``."""

    @abstractmethod
    def list_files(self, location: str) -> Iterator[FileReference]:
        """All files below a location, as a stream, in any order.

        ``location`` ends in a slash. Each file's ``location`` is the given one and its ``path`` the raw rest of the key
        (S4). ``modified`` is the time of the last modification by the store's clock; a file without one is never
        deleted (S8). A location that does not exist is empty. A file that is added or deleted while the listing runs
        may or may not be listed; every other file is listed exactly once. Links to folders are not followed (S24).

        Raises:
            ListingError: the location cannot be listed completely; then nothing in it is deleted (S6).
            ServiceUnavailableError, AccessDeniedError: the store does not answer, or denies access.
        """


@runtime_checkable
class SupportsSplitListing(Protocol):
    """A lister that can split a location into parts, which are listed in parallel."""

    def split_listing(self, location: str, parts: int) -> Sequence[str]:
        """Opaque names of parts that together make up the location, each file in exactly one of them.

        ``parts`` is a hint; the result may have fewer or more.
        """

    def list_part(self, location: str, part: str) -> Iterator[FileReference]:
        """Like ``list_files``, but for one part only; the files' ``location`` is still the whole location."""


@dataclass(frozen=True, slots=True)
class ListingPart:
    """A part of a location that has not been listed yet."""

    name: str
    """Opaque; to be passed to the same lister, in this process or another."""


@runtime_checkable
class SupportsCutListing(Protocol):
    """A lister that detects large locations while listing, and hands parts of them to idle workers."""

    def list_or_cut(self, location: str, part: str | None) -> Iterator[FileReference | ListingPart]:
        """Like ``list_files`` (or ``list_part``, if a part is given), with parts among the files.

        Each yielded part is listed by another call, possibly in another thread at the same time. Each file is either
        yielded here or in exactly one part.
        """


@runtime_checkable
class SupportsListBatches(Protocol):
    """A lister that returns files by columns, which costs less for every file."""

    def list_batches(self, location: str, part: str | None) -> Iterator[pa.RecordBatch | ListingPart]:
        """What ``list_or_cut`` yields, the files as batches (:data:`LISTED_FILES`) of any size.

        Sizes are integers in bytes, times are integers in microseconds since the epoch, both null where unknown; a
        column of timestamps or floats is refused. For a lister that cannot split: what ``list_files`` yields; ``part``
        is ``None``. A subclass that overrides one
        of these methods alone is asked for that.
        """


@runtime_checkable
class SupportsLookUp(Protocol):
    """A lister that can look up single files, for runs with a list of files instead of a listing."""

    def look_up(self, location: str, paths: Sequence[str]) -> Iterator[FileReference]:
        """The files among some raw paths below a location that exist now, each as ``list_files`` would return it.

        Leaves out what a listing would leave out: missing files, directories and their markers, and files behind a link
        to a folder. In any order; each at most once. Called with paths of one folder, if the store has folders.

        Raises:
            ListingError, ServiceUnavailableError, AccessDeniedError: as for ``list_files``.
        """


@runtime_checkable
class SupportsLeftAlone(Protocol):
    """A lister that counts the names that it skips because they are not regular files."""

    def take_left_alone(self) -> int:
        """How many names its listings skipped since the previous call; called in the thread that listed.

        Such as links to folders, and names that are not text. Directory markers do not count.
        """


@runtime_checkable
class SupportsStoreClock(Protocol):
    """A lister that knows the time by the store's own clock (S8)."""

    def store_time(self, location: str) -> datetime:
        """The store's current time in UTC. Writes nothing.

        Raises:
            ServiceUnavailableError: the time is unknown. Ages then use this machine's clock, and the report warns.
        """


@runtime_checkable
class SupportsVersioning(Protocol):
    """A lister that can tell whether the store keeps deleted files."""

    def keeps_versions(self, location: str) -> bool | None:
        """Whether the store of a location keeps older versions of deleted files; called once per bucket.

        ``None`` if unknown. Never raises if the store does not answer.
        """
