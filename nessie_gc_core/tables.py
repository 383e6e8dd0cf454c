"""The protocol between services and the Iceberg tables of a catalog in which they keep what they found.

Implemented for the catalogs of a Spark session, and by plugins for engines that have no catalogs of their own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence, Set

import pyarrow as pa

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import Value
from nessie_gc_core.model.compaction import FileRewrite, PartitionSet, RewrittenFiles
from nessie_gc_core.model.tables import CurrentTable, TableName, TableState


class Maintenance(ABC):
    """Rewrites parts of the Iceberg tables of one catalog, and in Nessie of one branch of it.

    Every verb raises :class:`nessie_gc_core.errors.TableError` where the catalog refuses; the message is one line.
    """

    @property
    @abstractmethod
    def loses_row_ids(self) -> bool:
        """Whether rows of format version 3 get other row ids where data manifests are rewritten."""

    @abstractmethod
    def names(self) -> Iterator[TableName]:
        """All tables, including any that are not Iceberg tables."""

    @abstractmethod
    def current(self, name: TableName) -> CurrentTable | None:
        """The current state of a table; ``None`` if there is no table of this name. Called in several threads.

        Raises:
            ForeignTableError: it is not an Iceberg table.
            TableError: the catalog cannot tell.
        """

    @abstractmethod
    def rewrite_manifests(
        self,
        table: CurrentTable,
        manifests: Mapping[int, Set[str]],
        *,
        target_bytes: int,
        summary: Mapping[str, str],
        placed: Mapping[str, int] | None = None,
    ) -> CurrentTable | None:
        """Rewrites some manifests of a table into others that follow its partitions, all in one commit.

        What others commit meanwhile stays, as long as they leave these manifests.

        Args:
            table: the state to which they belong.
            manifests: partition spec ids with the raw paths of manifests of that spec.
            target_bytes: the size of new manifests.
            summary: what the summary of the new snapshot says beside Iceberg's own words.
            placed: raw paths of all data files of these manifests, each with the number of its new manifest: they are
                distributed by the driver, which keeps the row ids; ``None``: the engine deals them out.

        Returns:
            The state after it; ``None``: it was committed, and cannot be read.

        Raises:
            CommitConflictError: the table is in another state, or others took the manifests; nothing was committed.
            CommitUnknownError: nobody knows whether it was committed; nothing is cleaned up (S19).
            TableError: it was rejected; nothing was committed.
        """

    @abstractmethod
    def rewrite_files(self, table: CurrentTable, partitions: PartitionSet, rewrite: FileRewrite) -> RewrittenFiles:
        """Compacts some partitions of a table, and never others; every query gives the same rows.

        What others commit meanwhile stays, as long as they leave these files.

        Args:
            table: the state to which they belong.
            partitions: which, and whether delete files are merged as well.
            rewrite: how.

        Returns:
            What was committed, in one commit or several; and what failed upon a commit that was made.

        Raises:
            CommitConflictError: the table is in another state, or others took the files; nothing was committed.
            CommitUnknownError: nobody knows whether it was committed; nothing is cleaned up (S19).
            TableError: it was rejected; nothing was committed.
        """


class Tables(ABC):
    """Iceberg tables of one catalog, and in Nessie of one branch of it.

    Every verb raises :class:`nessie_gc_core.errors.TableError` where the catalog refuses; the message is one line.
    """

    @abstractmethod
    def state(self, name: TableName) -> TableState | None:
        """The state of a table; ``None`` if it does not exist.

        Raises:
            TableError: it exists, but is not an Iceberg table.
        """

    @abstractmethod
    def create(
        self, name: TableName, schema: pa.Schema, *, properties: Mapping[str, str], bucket_by: str | None = None
    ) -> None:
        """Creates a table, and its missing namespaces; an existing table stays as it is.

        Args:
            name: of the table.
            schema: its columns; those that are not nullable are required.
            properties: of the table.
            bucket_by: the column by whose hash rows are distributed over 16 partitions; ``None``: unpartitioned.
        """

    def maintenance(self) -> Maintenance:
        """What rewrites parts of these tables.

        Raises:
            ConfigurationError: nothing does here; the message says what to do.
        """
        raise ConfigurationError("rewriting tables needs Spark; use `engine` spark")

    @abstractmethod
    def add_columns(self, name: TableName, fields: Sequence[pa.Field]) -> None:
        """Adds optional columns; existing ones stay as they are."""

    @abstractmethod
    def append(self, name: TableName, rows: Dataset) -> None:
        """Adds rows, all of them in one commit."""

    @abstractmethod
    def claim(self, name: TableName, row: Mapping[str, Value], column: str, *, since: TableState) -> bool:
        """Adds a row, unless a row with the same number in this column was added since the given state.

        Returns:
            Whether it was added: of several that claim one number at the same time, one.
        """

    @abstractmethod
    def read(self, name: TableName, schema: pa.Schema) -> Dataset:
        """The rows of a table, with these of its columns; those that it does not have are null."""

    @abstractmethod
    def remove(self, name: TableName, keys: Dataset) -> None:
        """Deletes the rows whose value in the single column of ``keys`` is one of its values."""

    @abstractmethod
    def drop(self, name: TableName) -> None:
        """Drops a table; its files stay, for other references may have it."""
