"""The contract of content readers: which files a content version needs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from types import MappingProxyType
from typing import ClassVar, Protocol, runtime_checkable

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.files import ReachableFile, StoredNames
from nessie_gc_core.model.manifests import FileEntry, Manifest
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata


class ContentToFiles(Connector):
    """Walks immutable files: a content version to its files, an expandable file to the files it names.

    Example of a whole plugin::

        from pathlib import Path
        from nessie_gc_core import hookimpl
        from nessie_gc_core.connectors import ContentToFiles
        from nessie_gc_core.errors import MissingFileError, UnreadableFileError
        from nessie_gc_core.model import ReachableFile

        class LinesReader(ContentToFiles):
            name = "lines"
            content_types = frozenset({"LINES"})
            expandable_kinds = ()

            def files(self, version):
                path = version.metadata_location
                try:
                    location, *paths, end = Path(path).read_text().splitlines()
                except FileNotFoundError as error:
                    raise MissingFileError(path, "it does not exist") from error
                except (OSError, ValueError) as error:
                    raise UnreadableFileError(path, str(error)) from error
                if end != "END":
                    raise UnreadableFileError(path, "it is cut off")
                for each in (path, *paths):
                    yield ReachableFile(path=each, kind="LINES", location=location)

            def expand(self, file):
                return iter(())

        @hookimpl
        def nessie_gc_register_content_to_files():
            return LinesReader

    The caller expands every file once per run, however many versions share it, and on an executor where the
    engine has some. A reader therefore keeps no state between calls that changes an answer.
    """

    content_types: ClassVar[frozenset[str]]
    """The content types that it reads; each is claimed by one reader of an installation."""
    expandable_kinds: ClassVar[tuple[str, ...]]
    """The kinds that :meth:`expand` takes, parents before children: a kind only expands to later kinds."""
    stored_names: ClassVar[Mapping[str, StoredNames]] = MappingProxyType({})
    """Content type to how its files are named, for those of its types whose contents a listing of files can find."""

    @abstractmethod
    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        """The files that the version needs at first hand: its metadata file, and what that names.

        Which snapshots are kept follows from the version's snapshot id:

        - A version that names one keeps that snapshot, and those that the metadata holds for a reason of its own
          (for Iceberg: tags, branches, staged snapshots). Others may go when no live version names them: a cut-off
          policy gives up snapshots of versions that name a snapshot id, and no others.
        - A version that says that there is none (a negative id, as Nessie has for a table without a current snapshot)
          keeps the metadata's own current snapshot, if any, in place of one that it names.
        - A version that does not say (``None``) keeps **all** snapshots that its metadata lists, with their
          statistics, and no option or policy gives them up (S25).

        Every file carries the content's base location; historic locations are sent along the same way, as
        files of those. Other places that the content writes to, which may be others' as well (for Iceberg
        ``write.data.path`` and the like), are sent as files of those that are ``shared``: they are swept only if the
        configuration allows them by name, and kept out where anything is in doubt. May come twice, in any order.

        Raises:
            MissingFileError: the metadata file does not exist.
            UnreadableFileError: it cannot be read or makes no sense (then nothing may be concluded from it).
        """

    def remembering(self) -> AbstractContextManager[None]:
        """A time in which one thread asks for several versions with one metadata file.

        A reader may remember that file until the time is over, and not longer: the next one may find it changed.
        """
        return nullcontext()

    @abstractmethod
    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        """The files that an expandable file names; all live ones, and no others where that can be told.

        Raises:
            MissingFileError: the file does not exist.
            UnreadableFileError: it cannot be read to its end, or makes no sense.
        """

    def named_places(self, version: ContentVersion) -> Iterable[str] | None:
        """Every absolute path and location that stands in a version's metadata, whether it is understood or not.

        Asked of contents of which something cannot be read: whatever is named is left alone (S6). ``None``: not even
        the text can be read. It does not raise. The default says that nothing can be told.
        """
        return None

    def kept_by_others(self, version: ContentVersion) -> str | None:
        """Why a content that no catalog has is not ours to delete, by its metadata; ``None``: nothing says so.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`files`.
        """
        return None

    def may_be_root(self, path: str) -> bool:
        """Whether a raw path could be what a content version points to (its metadata file).

        Deletions of such files are remembered, so that a later run can tell "we deleted it" from "it is
        lost" (S7). In doubt, yes.
        """
        return True


@runtime_checkable
class SupportsKindOfName(Protocol):
    """A reader whose format has habits of naming files."""

    def kind_of_name(self, path: str) -> str | None:
        """What a file most likely is, by nothing but its raw path; ``None`` where the name does not say.

        For people, and never for decisions: nothing keeps a writer to any habit.
        """


@runtime_checkable
class SupportsTableMetadata(Protocol):
    """A reader that says what the metadata of a table lists, from one small file and no other."""

    def table_metadata(self, version: ContentVersion, *, reference: str) -> TableMetadata | None:
        """What the metadata file of a version lists; ``None`` where the content is no table.

        The current snapshot is the one that the version names; where it names none, the metadata's own.

        Args:
            version: the version.
            reference: the name of the reference at which it is visible.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.files`.
        """


@runtime_checkable
class SupportsManifests(Protocol):
    """A reader that says what manifests a snapshot has, by its manifest list, and what files a manifest names."""

    def manifests(self, version: ContentVersion) -> Iterator[Manifest]:
        """The manifests of one snapshot, in the order of the list; none where the content is no table.

        It is the snapshot that the version names; where it names none, the metadata's own current one.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.files`; the manifest list counts as
                metadata.
        """

    def entries(self, manifest: Manifest) -> Iterator[FileEntry]:
        """The live files that a manifest names, in its order.

        Args:
            manifest: one that :meth:`manifests` gave; what its entries do not say themselves is inherited from it.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.expand`.
        """


@runtime_checkable
class SupportsSnapshotRemoval(Protocol):
    """A reader that can write as well: new metadata of a table, from which snapshots are left out.

    Only services that write ask for it. The account needs the right to write new files into the folder.
    """

    def write_without(
        self, version: ContentVersion, snapshot_ids: Collection[int], *, folder: str, now: datetime
    ) -> str:
        """Writes a new metadata file beside that of a version, and gives its raw path.

        It says of the table what that of the version says, fields that the reader does not know included, but for the
        snapshots and what belongs to them alone. Nothing is written over, nothing is deleted, and nothing names the
        new file until somebody commits it.

        Args:
            version: the version.
            snapshot_ids: the snapshots that are left out.
            folder: raw place of the new file, with a slash at its end.
            now: the time for the new file, UTC.

        Raises:
            SafetyError: the version, or the metadata itself, needs one of the snapshots (``TableMetadata.held``).
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.files`.
            UnwritableFileError: the file cannot be written.
        """
