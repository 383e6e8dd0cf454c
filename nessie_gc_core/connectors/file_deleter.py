"""The contract of file deleters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from nessie_gc_core.connectors.base import Connector
from nessie_gc_core.model.files import DeleteOutcome, FileReference


class FileDeleter(Connector):
    """Deletes files below a location, and says of each what became of it."""

    schemes: ClassVar[frozenset[str]]
    """The URI schemes that it deletes from, lower case; an absolute path without a scheme is ``file``."""
    batch_size: ClassVar[int] = 1000
    """How many files it likes to get at once (S3 takes 1,000 in one request)."""

    @abstractmethod
    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        """Deletes the files and yields exactly one outcome for each, in any order.

        A file that is not there is ALREADY_GONE where the store can tell, else DELETED (S3 cannot tell). A file
        that could not be deleted is FAILED with its reason; it never stops the others. Nothing but these
        files is touched: no directories, no markers (S22). Doing it twice does no harm (S15).
        """
