"""The contract of content readers: which files a content version needs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from types import MappingProxyType
from typing import ClassVar, Protocol, runtime_checkable

import pyarrow as pa

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
                    raise UnreadableFileError(path, "it is truncated")
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
    """The content types that it reads; an installation has one reader for each."""
    expandable_kinds: ClassVar[tuple[str, ...]]
    """The kinds that :meth:`expand` accepts, parents before children: a kind expands only to later kinds."""
    stored_names: ClassVar[Mapping[str, StoredNames]] = MappingProxyType({})
    """How files are named, by content type, for types whose contents can be found in a listing of files."""

    @abstractmethod
    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        """The files that the version needs directly: its metadata file, and the files that it names.

        Which snapshots are kept follows from the version's snapshot id:

        - A version that names one keeps that snapshot, and those that the metadata itself protects (for Iceberg: tags,
          branches, staged snapshots). Others may be deleted if no live version names them: a cut-off policy applies
          only to snapshots of versions that name a snapshot id.
        - A version that says that there is none (a negative id, as Nessie has for a table without a current snapshot)
          keeps the metadata's own current snapshot instead, if any.
        - A version that does not say (``None``) keeps **all** snapshots that its metadata lists, with their
          statistics, and no option or policy changes that (S25).

        Every file carries the content's base location. Report each historic location as the ``location`` of some file.
        Report other places that the content writes to, and that others may use (for Iceberg ``write.data.path`` and the
        like), as the location of a ``shared`` file: they are swept only if the configuration allows them by name, and
        not in case of doubt. Files may come in any order, and more than once.

        If the metadata says that a tool writes it from a table of another format, yield the metadata file once more
        with the kind :data:`TRANSLATED`: nothing is deleted at its location then (S32).

        Raises:
            MissingFileError: the metadata file does not exist.
            UnreadableFileError: it cannot be read or is invalid (then nothing may be concluded from it).
        """

    def remembering(self) -> AbstractContextManager[None]:
        """A context in which one thread asks for several versions with the same metadata file.

        A reader may cache that file inside the context, but not longer: the file may change.
        """
        return nullcontext()

    @abstractmethod
    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        """The files that an expandable file names: all live ones, and if possible no others.

        Raises:
            MissingFileError: the file does not exist.
            UnreadableFileError: it cannot be read completely, or is invalid.
        """

    def named_places(self, version: ContentVersion) -> Iterable[str] | None:
        """Every absolute path and location in a version's metadata, whether it is understood or not.

        Called for contents that cannot be read completely: whatever is named is kept (S6). ``None`` means that not even
        the text can be read, and is the default. It never raises.
        """
        return None

    def kept_by_others(self, version: ContentVersion) -> str | None:
        """Why a content that is in no catalog must not be deleted, by its metadata; ``None``: no reason is known.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`files`.
        """
        return None

    def may_be_root(self, path: str) -> bool:
        """Whether a raw path could be what a content version points to (its metadata file).

        Deletions of such files are recorded, so that a later run can tell "we deleted it" from "it is lost" (S7).
        Return true in case of doubt.
        """
        return True


@runtime_checkable
class SupportsExpandBatches(Protocol):
    """A reader that returns what an expandable file names by columns, which costs less for every file."""

    def expand_batches(self, file: ReachableFile) -> Iterator[pa.RecordBatch]:
        """What :meth:`ContentToFiles.expand` yields, as batches (:data:`NAMED_FILES`) of any size.

        A subclass that overrides ``expand`` alone is asked for that.

        Raises:
            MissingFileError, UnreadableFileError: as for ``expand``.
        """


@runtime_checkable
class SupportsKindOfName(Protocol):
    """A reader whose format has naming conventions for files."""

    def kind_of_name(self, path: str) -> str | None:
        """The probable kind of a file, by its raw path alone; ``None`` if the name does not tell.

        For display only, never for decisions: writers need not follow any convention.
        """


@runtime_checkable
class SupportsTableMetadata(Protocol):
    """A reader that returns what the metadata of a table lists, from one small file only."""

    def table_metadata(self, version: ContentVersion, *, reference: str) -> TableMetadata | None:
        """What the metadata file of a version lists; ``None`` if the content is not a table.

        The current snapshot is the one that the version names, or else the metadata's own.

        Args:
            version: the version.
            reference: the name of the reference at which it is visible.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.files`.
        """


@runtime_checkable
class SupportsManifests(Protocol):
    """A reader that returns the manifests of a snapshot, from its manifest list, and the files of a manifest."""

    def manifests(self, version: ContentVersion) -> Iterator[Manifest]:
        """The manifests of one snapshot, in the order of the list; none if the content is not a table.

        The snapshot is the one that the version names, or else the metadata's current one.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.files`; the manifest list counts as
                metadata.
        """

    def entries(self, manifest: Manifest) -> Iterator[FileEntry]:
        """The live files that a manifest names, in its order.

        Args:
            manifest: one that :meth:`manifests` returned; its entries inherit from it what they do not set.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.expand`.
        """


@runtime_checkable
class SupportsVersionHints(Protocol):
    """A reader whose format has files that name the newest metadata of a table (for Iceberg ``version-hint.text``).

    Readers without a catalog find the table by such a file, and so do writers, which write it anew with each commit. It
    is read only where a listing shows one.
    """

    def hinted(self, path: str) -> Sequence[str]:
        """Raw paths of the metadata files that a hint may name, and of those that may follow it; some may not exist.

        Raises:
            MissingFileError: the hint does not exist.
            UnreadableFileError: it cannot be read, or its content is none that is known.
        """

    def is_apart(self, path: str, live: str) -> bool:
        """Whether a metadata file has a state of a table that a live metadata file does not know as an earlier one.

        It is later, or someone else wrote it while the live one went on, or it is of another table. Return true in case
        of doubt.

        Raises:
            MissingFileError, UnreadableFileError: as for :meth:`ContentToFiles.files`.
        """


@runtime_checkable
class SupportsSnapshotRemoval(Protocol):
    """A reader that can also write: new metadata of a table, without some of its snapshots.

    Only services that write use it. The account needs the right to write new files to the folder.
    """

    def write_without(
        self, version: ContentVersion, snapshot_ids: Collection[int], *, folder: str, now: datetime
    ) -> str:
        """Writes a new metadata file next to that of a version, and returns its raw path.

        It has the same content, including fields that the reader does not know, except for the snapshots and what
        belongs to them alone. Nothing is overwritten or deleted, and nothing refers to the new file until someone
        commits it.

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
