"""Opens the lists of files that a run is given: files, inventories, and Iceberg tables, which a reader opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nessie_gc_core.algorithms.file_list_source import FileList, check_file_list, check_name, open_file_list
from nessie_gc_core.algorithms.file_list_table import is_table, list_of_data_files
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import SupportsManifests, SupportsTableMetadata
from nessie_gc_core.errors import ConfigurationError, MissingFileError, UnreadableFileError
from nessie_gc_core.model.manifests import FileEntry
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion
from nessie_gc_core.model.table_metadata import MAIN
from nessie_gc_core.model.times import LATEST, from_millis


def open_file_lists(names: Sequence[str], choice: ConnectorChoice) -> list[FileList]:
    """Finds the parts of each list.

    Raises:
        ConfigurationError: one is missing, or is not a list, or lacks a part; in one line.
    """
    return [_table(name, choice) if is_table(name) else open_file_list(name) for name in names]


def check_file_lists(names: Sequence[str], choice: ConnectorChoice) -> None:
    """Opens the lists, and looks at their columns and their first rows.

    Raises:
        ConfigurationError: one is missing, or is not a list, or lacks a part; in one line.
    """
    for opened in open_file_lists(names, choice):
        check_file_list(opened)


def _table(name: str, choice: ConnectorChoice) -> FileList:
    check_name(name)
    version = ContentVersion(
        content_id=name,
        content_type=ICEBERG_TABLE,
        metadata_location=name,
        snapshot_id=None,
        content_key=name,
        commit_id="",
    )
    with OpenConnectors(choice) as connectors, connectors.reader(ICEBERG_TABLE) as reader:
        if not isinstance(reader, SupportsTableMetadata) or not isinstance(reader, SupportsManifests):
            raise ConfigurationError(f"`file_list` {name!r} is a table, which the reader {reader.name!r} cannot open")
        try:
            table = reader.table_metadata(version, reference=MAIN)
            main = None if table is None else table.refs.get(MAIN)
            if table is None or main is None:
                raise ConfigurationError(f"`file_list` {name!r} is a table without a snapshot")
            made = [each.timestamp_ms for each in table.snapshots if each.snapshot_id == main.snapshot_id]
            if not made:
                raise ConfigurationError(f"`file_list` {name!r} does not list its own snapshot {main.snapshot_id}")
            if from_millis(made[0]) == LATEST:  # a list from the future would spare nothing
                raise ConfigurationError(f"`file_list` {name!r} has a snapshot of no time in milliseconds: {made[0]}")
            return list_of_data_files(
                name,
                _entries(reader, version),
                made=from_millis(made[0]),
                column_ids=table.column_ids,
            )
        except (MissingFileError, UnreadableFileError) as error:
            raise ConfigurationError(f"`file_list` {name!r} cannot be read: {error}") from error


def _entries(reader: SupportsManifests, version: ContentVersion) -> Iterator[FileEntry]:
    for manifest in reader.manifests(version):
        yield from reader.entries(manifest)
