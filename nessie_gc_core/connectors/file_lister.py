"""The contract of file listers: what is stored under a location."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Protocol, runtime_checkable

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

        ``location`` ends in a slash. Each file's ``location`` is the asked one and its ``path`` the raw
        rest of the key (S4). ``modified`` is the store's own time of the last modification; a file without one is
        never deleted (S8). A location that does not exist is empty. A file that appears or goes while the listing
        runs may or may not be in it; every other file is, exactly once. Links to folders are not followed (S24).

        Raises:
            ListingError: the location cannot be listed to its end; then nothing in it is deleted (S6).
            ServiceUnavailableError, AccessDeniedError: the store does not answer, or refuses.
        """


@runtime_checkable
class SupportsSplitListing(Protocol):
    """A lister that can cut a location into parts that are listed at the same time."""

    def split_listing(self, location: str, parts: int) -> Sequence[str]:
        """Opaque names of parts that together are the whole location, each file in exactly one of them.

        ``parts`` is a wish; fewer or more may come.
        """

    def list_part(self, location: str, part: str) -> Iterator[FileReference]:
        """Like ``list_files`` (the files' ``location`` is the whole one), for one part only."""


@dataclass(frozen=True, slots=True)
class ListingPart:
    """A part of a location that is still to be listed."""

    name: str
    """Opaque; the lister that gave it takes it, in this process or another."""


@runtime_checkable
class SupportsCutListing(Protocol):
    """A lister that finds out while it lists that a location is large, and leaves parts of it to whoever is idle."""

    def list_or_cut(self, location: str, part: str | None) -> Iterator[FileReference | ListingPart]:
        """Like ``list_files`` (or ``list_part``, where a part is named), with parts among the files.

        A part that is given is listed by another call, maybe in another thread and at the same time: each file is in
        exactly one of them, or comes at once.
        """


@runtime_checkable
class SupportsLookUp(Protocol):
    """A lister that can look at single files, for those who have a list of files in place of a listing."""

    def look_up(self, location: str, paths: Sequence[str]) -> Iterator[FileReference]:
        """Those of some raw paths below a location that are stored now, each as ``list_files`` would give it.

        What a listing would not give is left out: what is not there, directories and their markers, what lies behind a
        link to a folder. In any order; each at most once. Called with the paths of one folder, as far as there are
        folders.

        Raises:
            ListingError, ServiceUnavailableError, AccessDeniedError: as for ``list_files``; nothing is concluded then.
        """


@runtime_checkable
class SupportsLeftAlone(Protocol):
    """A lister that can tell how many names it leaves out because they are no files of anybody's."""

    def take_left_alone(self) -> int:
        """How many names its listings have left out since this was asked last; asked in the thread that listed.

        Such as links to folders, and names that are not text. Directory markers do not count.
        """


@runtime_checkable
class SupportsStoreClock(Protocol):
    """A lister that can tell the time by the store's own clock (S8)."""

    def store_time(self, location: str) -> datetime:
        """The store's time now, UTC. Writes nothing.

        Raises:
            ServiceUnavailableError: it does not tell. Ages then go by this machine's clock, and the report warns.
        """


@runtime_checkable
class SupportsVersioning(Protocol):
    """A lister that can tell whether a deletion leaves something behind in the store."""

    def keeps_versions(self, location: str) -> bool | None:
        """Whether the store of a location keeps older versions of what is deleted; asked once per bucket.

        ``None``: it does not say, cannot be asked, or refuses. Never raises for a store that does not answer.
        """
