"""The contract of file deleters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import ClassVar, Protocol, runtime_checkable

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.files import DeleteOutcome, FileReference
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome
from nessie_gc_core.model.versions import FileVersion, VersionOutcome


class FileDeleter(Connector):
    """Deletes files below a location, and reports the outcome of each.

    Example of a whole plugin::

        from urllib.error import HTTPError
        from urllib.parse import quote
        from urllib.request import Request, urlopen
        from nessie_gc_core import hookimpl
        from nessie_gc_core.connectors import FileDeleter
        from nessie_gc_core.model import DeleteOutcome, DeleteStatus

        class WebDeleter(FileDeleter):
            name = "web"
            schemes = frozenset({"web"})

            def delete_files(self, location, files):
                for file in files:
                    status, reason = DeleteStatus.DELETED, ""
                    url = "http://" + quote((location + file.path).removeprefix("web://"))
                    try:
                        urlopen(Request(url, method="DELETE"), timeout=60).close()
                    except (OSError, ValueError) as error:
                        gone = isinstance(error, HTTPError) and error.code == 404
                        status = DeleteStatus.ALREADY_GONE if gone else DeleteStatus.FAILED
                        reason = "" if gone else str(error)
                    yield DeleteOutcome(path=file.path, status=status, reason=reason)

        @hookimpl
        def nessie_gc_register_file_deleter():
            return WebDeleter
    """

    schemes: ClassVar[frozenset[str]]
    """The URI schemes that it deletes from, lower case; an absolute path without a scheme is ``file``."""
    fallback_schemes: ClassVar[frozenset[str]] = frozenset()
    """More URI schemes that it deletes from, lower case, unless another connector has them in ``schemes``."""
    batch_size: ClassVar[int] = 1000
    """The preferred number of files in one call (S3 takes 1,000 in one request)."""

    @abstractmethod
    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        """Deletes the files and yields exactly one outcome for each, in any order.

        A file that does not exist is ALREADY_GONE if the store can tell, else DELETED (S3 cannot tell). A file that
        could not be deleted is FAILED with its reason in one line; it never stops the others, and its error is not
        raised. Nothing but these files is touched: no directories, not even empty ones, no markers (S22), and nothing
        through a link to a folder, be it above the location or below it (S24): locations come without links, so one
        that is there now was put there since. Deleting twice does no harm (S15).
        """


@runtime_checkable
class SupportsEmptyDirectories(Protocol):
    """A deleter for file systems, where a directory remains after its files are deleted (S22)."""

    def is_empty_directory(self, location: str) -> bool:
        """Whether a location is an existing directory with nothing but directories below it.

        False for a link, in a store without directories, and if anything cannot be examined.
        """

    def remove_empty_directory(self, location: str) -> bool:
        """Removes such a directory and those in it, each with a call that fails if it is not empty.

        Returns:
            Whether it was removed. Anything added in the meantime stays, with its parent directories.
        """


@runtime_checkable
class SupportsMoves(Protocol):
    """A deleter that can move files within a store: to a quarantine instead of deleting them, and back."""

    def move_refusal(self, location: str, to: str) -> str | None:
        """Why files of a location cannot be moved to another one, in one line; ``None``: they can.

        Both are raw locations that end in a slash. Changes nothing; it need not ask the store.
        """

    def move_files(self, location: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """Moves the files, and yields exactly one outcome for each, in any order.

        At no time is a file at neither path: a store that cannot rename copies it, makes sure that the copy is whole,
        and then deletes the original. A killed call is repeated: a file that is at both paths with the same content is
        deleted at the old one, a file that is at the new path only is MOVED. Nothing is ever overwritten: if another
        file is at the new path, the outcome is EXISTS, also if it cannot be told apart. The bytes stay the same; the
        time of the last modification may change. Folders above the new path are created where a store has folders. An
        error of one file is FAILED with its reason in one line; it never stops the others, and is not raised. Nothing
        is moved out of or into a folder that is a link, or is reached through one (S24).
        """


@runtime_checkable
class SupportsHiding(Protocol):
    """A deleter whose store keeps versions: it hides files behind delete markers, and shows them again.

    The rules are in ``nessie_gc_core.model.versions``, as functions: which version and which marker are meant. Every
    version and every marker is deleted by its id, never the newest one at a path.

    A store may have no delete markers, and no way to make a version current again. Then the deleter makes up an id for
    each deletion, and the rules get it as a marker; a later copy of a version with the same bytes counts as that
    version. Only a purge still deletes the version itself, if it is there, and never the copy.
    """

    def hide_refusal(self, location: str) -> str | None:
        """Why files of a location cannot be hidden, in one line; ``None``: they can.

        Asks the store: where it is not certain that deleted files stay as versions from now on, and that versions can
        be deleted, there is a reason. Changes nothing.
        """

    def release_refusal(self, location: str) -> str | None:
        """Why versions and markers of a location cannot be deleted, in one line; ``None``: they can."""

    def hide_warnings(self, locations: Sequence[str], duration: timedelta) -> Sequence[str]:
        """What the store itself may do to hidden files of some locations of one bucket in that time, one line each.

        Such as a rule of the bucket that deletes versions earlier; each is named once.
        """

    def hide_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Hides the files, and yields exactly one outcome for each, in any order.

        A file is hidden only if what is current is what was listed. If it is written again at the same moment, what was
        written stays visible; unless the store itself checks what it hides, the marker is removed, and it is FAILED. A
        file that is hidden already is MISSING, whoever did that; where one marker hides the version that was listed,
        the outcome has both ids, so that a killed call can be repeated.
        """

    def show_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Removes the markers that hide the versions, and yields exactly one outcome for each, in any order.

        A version that is visible already is DONE. One below a newer version is EXISTS, one below a marker that is not
        its own is FAILED; nothing changes then.
        """

    def purge_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes the versions, then their markers, and yields exactly one outcome for each, in any order.

        A version that is visible, or whose marker was removed, is RELEASED and stays. A marker stays where another
        version would become visible without it. A killed call is repeated: if only the marker is left, it is deleted.
        """


@runtime_checkable
class SupportsObjectTags(Protocol):
    """A deleter whose store keeps tags of objects: it tags files that stay where they are, and takes the tags off.

    The rules are in ``nessie_gc_core.model.object_tags``, as functions: which file is meant, and which tags it has
    then. The key of the tag is ``QUARANTINE_TAG``; its value is the :attr:`FileVersion.marker` of the file. All other
    tags of a file stay.
    """

    def tag_refusal(self, location: str) -> str | None:
        """Why files of a location cannot be tagged and untagged, in one line; ``None``: they can.

        Asks the store: where it is not certain that it keeps tags, and lets them be read and written, there is a reason
        that names the rights. Changes nothing.
        """

    def tag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Tags the files, and yields exactly one outcome for each, in any order.

        A file is tagged only if it is what was listed; if it is written again at the same moment, the tag is taken off,
        and it is FAILED. One that has this tag already is DONE, so that a killed call can be repeated; one that has as
        many tags as the store takes is FAILED. The outcome has the entity tag of the file and the value of its tag.
        """

    def untag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Takes the tag off the files, and yields exactly one outcome for each, in any order.

        One without it is RELEASED; one whose tag has another value is EXISTS. Nothing changes then.
        """

    def purge_tagged(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes the files, and yields exactly one outcome for each, in any order.

        A file whose tag is gone or has another value, or which is not what was recorded, is RELEASED and stays; where
        the store can, its entity tag is a condition of the deletion. One that is not there is MISSING.
        """


@runtime_checkable
class SupportsVersionDeletion(Protocol):
    """A deleter whose store keeps versions: it deletes files together with their older versions."""

    def version_refusal(self, location: str) -> str | None:
        """Why versions below a location are not deleted, in one line; ``None``: they are.

        Asks the store: where it is not certain that it keeps versions now and lets them go, there is a reason.
        """

    def delete_with_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """Deletes the files and all older versions of them, and yields exactly one outcome for each, in any order.

        Only if what is current is what was listed (``to_delete`` in ``nessie_gc_core.model.versions``). Each version is
        deleted by its id, older ones first and what is current last: a killed call is repeated, and no older version
        ever becomes visible. If one cannot be deleted, the file stays and is FAILED. A file that is not there, or is
        deleted already, is MISSING, and its versions stay.
        """
