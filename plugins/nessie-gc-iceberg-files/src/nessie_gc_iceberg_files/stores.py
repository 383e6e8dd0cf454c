"""What the connectors need of a store.

A store speaks in raw keys only: what it lists is what it reads and deletes, character by character (S4).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple, Protocol

from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_core.model.text import without_passwords
from nessie_gc_core.model.unpacking import Limit
from nessie_gc_core.model.versions import FileVersion, VersionOutcome

MANY_NAMES = 2000
"""A level with more names than this is not read as a whole for the sake of some of its files."""


class StoredFile(NamedTuple):
    """A file as a store lists it."""

    key: str
    size: int | None
    modified: int | None
    """Microseconds since the epoch."""

    @classmethod
    def at(cls, key: str, size: int | None, modified: datetime | None) -> StoredFile:
        """A file by the time of its last modification."""
        return cls(key, size, None if modified is None else to_micros(modified))


@dataclass(frozen=True, slots=True)
class Level:
    """One level below a prefix: the files directly in it, and the prefixes that go on."""

    files: Sequence[StoredFile]
    prefixes: Sequence[str]
    """Full raw prefixes that end in a slash."""


class Versions(Protocol):
    """The versions of files in one bucket; keys are ``prefix + path``, and each file has one outcome."""

    def hide_refusal(self) -> str | None:
        """Why files cannot be hidden."""

    def release_refusal(self) -> str | None:
        """Why versions cannot be deleted."""

    def version_refusal(self) -> str | None:
        """Why files are not deleted with their versions."""

    def hide_warnings(self, prefixes: Sequence[str], duration: timedelta) -> Sequence[str]:
        """What the store itself may do with hidden files in that time."""

    def hide(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Hides files."""

    def show(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Shows them again."""

    def purge(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes their versions."""

    def delete_all(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes files with all their versions."""


class ObjectTags(Protocol):
    """The tags of files in one bucket; keys are ``prefix + path``, and each file has one outcome."""

    def tag_refusal(self, prefix: str) -> str | None:
        """Why files cannot be tagged."""

    def tag(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Tags files."""

    def untag(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Takes the tags off."""

    def purge(self, prefix: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes what has its tag."""


class Store(ABC):
    """One bucket, one container, or the local disk. Used from several threads at once."""

    can_move: ClassVar[bool] = False
    """Whether files can be moved within it."""
    has_folders: ClassVar[bool] = False
    """Whether a prefix that :meth:`files` takes is a folder, so that a key is none of itself."""

    @abstractmethod
    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """The whole file.

        Args:
            key: its key.
            limit: what it may have; a store that tells the size before the content reads nothing that is larger.

        Raises:
            TooMuchError: it is larger.
            FileNotFoundError: the store says for certain that there is no such file.
            OSError: it cannot be read; the message is the reason, without secrets.
        """

    def create(self, key: str, data: bytes) -> None:
        """Writes a whole file that is not there.

        Raises:
            FileExistsError: it is there; it stays as it is.
            OSError: it cannot be written; the message is the reason, without secrets.
        """
        raise OSError("this kind of store is read-only here")

    @abstractmethod
    def files(self, prefix: str) -> Iterator[StoredFile]:
        """All files below a prefix that ends in a slash (or is empty), as a stream.

        Raises:
            ListingError, ServiceUnavailableError, AccessDeniedError: the listing did not come to its end.
        """

    @abstractmethod
    def level(self, prefix: str, limit: int | None) -> Level | None:
        """One level below a prefix; ``None`` if it has more names than ``limit`` (``None``: no limit)."""

    @abstractmethod
    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """Deletes the files with the keys ``prefix + path``; one outcome for each, named by its path."""

    def move(self, prefix: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """Moves the files ``prefix + path`` to the keys ``to + to_path``; one outcome for each, named by its path.

        Only where it can (:attr:`can_move`).
        """
        return (unmoved(move, "files of its store cannot be moved") for move in moves)

    def versions(self) -> Versions | None:
        """Hides, shows and purges; ``None``: not in this kind of store."""
        return None

    def tags(self) -> ObjectTags | None:
        """Tags, untags and purges; ``None``: not in this kind of store."""
        return None

    def look_up(self, prefix: str, paths: Sequence[str]) -> Iterator[StoredFile]:
        """Those of the files ``prefix + path`` that are stored now, found by listing their levels.

        So whatever a listing leaves out is left out here.
        """
        folders: dict[str, set[str]] = {}
        for path in paths:
            key = prefix + path
            folders.setdefault(key[: key.rfind("/") + 1], set()).add(key)
        for folder, keys in folders.items():
            if not self.is_reached(prefix, folder):
                continue
            level = self.level(folder, None if self.has_folders else MANY_NAMES)
            self.take_left_alone()  # they are counted where they are listed
            if level is None:
                yield from self._each(keys)
            else:
                yield from (file for file in level.files if file.key in keys)

    def is_reached(self, prefix: str, folder: str) -> bool:
        """Whether a listing of the prefix would come to a folder, if it is there; not through links."""
        return True

    def _each(self, keys: Iterable[str]) -> Iterator[StoredFile]:
        """Those of some keys that are stored; each is asked for as the prefix that it is of itself."""
        for key in keys:
            found = next((file for file in self.files(key) if file.key == key), None)
            if found is not None:
                yield found

    def refusals(self, prefix: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Paths without a known size that are not files to this store, such as directories, and why each stays."""
        return {}

    def keeps_versions(self) -> bool | None:
        """Whether a deletion leaves an older version behind; ``None``: the store does not say."""
        return None

    @abstractmethod
    def now(self, prefix: str) -> datetime:
        """The time by the store's clock, UTC; asking may list below the prefix, and writes nothing."""

    def is_empty_directory(self, prefix: str) -> bool:
        """Whether it is a directory with nothing but directories below it; object stores have none."""
        return False

    def remove_empty_directory(self, prefix: str) -> bool:
        """Removes it, and whether it is gone."""
        return False

    def take_left_alone(self) -> int:
        """How many names its listings have left out since this was asked last."""
        return 0

    def close(self) -> None:  # noqa: B027 - some stores hold nothing open
        """Releases what it holds."""


def failed(path: str, reason: object) -> DeleteOutcome:
    """The outcome of a file that could not be deleted."""
    return DeleteOutcome(path=path, status=DeleteStatus.FAILED, reason=one_line(reason))


def unmoved(move: FileMove, reason: object) -> MoveOutcome:
    """The outcome of a file that could not be moved."""
    return MoveOutcome(path=move.path, status=MoveStatus.FAILED, reason=one_line(reason))


def moved_by(deleted: DeleteOutcome) -> MoveOutcome:
    """The outcome of a copied file whose original was to be deleted; one that is gone by now is moved too."""
    if deleted.status is DeleteStatus.FAILED:
        return MoveOutcome(path=deleted.path, status=MoveStatus.FAILED, reason=deleted.reason)
    return MoveOutcome(path=deleted.path, status=MoveStatus.MOVED)


def one_line(text: object, limit: int = 300) -> str:
    """The text as one short line, without passwords."""
    line = without_passwords(" ".join(str(text).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def granting(reason: object, right: str) -> str:
    """Why a store refused something, and the right to grant."""
    return f"{str(reason).rstrip('.')}; grant {right}"
