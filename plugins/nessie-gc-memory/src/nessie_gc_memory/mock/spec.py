"""How large a computed lake is: the options of every connector ``mock``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import json_time

SCHEME = "mock"
MOCK_TABLE = "MOCK_TABLE"
"""Content type of the tables of computed lakes, unless the options give another one."""
_VERSIONS = ("1", "2", "3")
_KINDS = ("content-to-files", "file-lister", "file-deleter")


@options
class MockLakeSpec(ConnectorOptions):
    """A computed lake: equal options describe the same lake in every process, and nothing of it is stored.

    Each commit puts new states of ``tables_per_commit`` tables, which take turns: a state is a snapshot with
    ``files_per_commit`` more data files in a new manifest. The other references are at evenly spaced commits of
    ``main``: tags, and branches with ``branch_commits`` commits of their own.
    """

    lake: str = option("mock", help="name of the lake, which identifies its repository")
    seed: int = option(0, help="changes file names, snapshot ids, sizes, and which files are missing or broken")
    root: str = option("mock://lake/warehouse", help="location of the tables; another scheme if the lake is served")
    content_type: str = option(MOCK_TABLE, help="type of the tables; ICEBERG_TABLE if the reader `iceberg` reads them")
    references: int = option(3, help="number of branches and tags, including main", minimum=1, maximum=99_999)
    commits: int = option(100, help="number of commits on main", minimum=1, maximum=1_000_000_000)
    branch_commits: int = option(2, help="number of commits on each other branch", minimum=0, maximum=1_000_000)
    branches_every: int = option(2, help="one of every n other references is a branch; 0: all are tags", minimum=0)
    tables_per_commit: int = option(1, help="number of tables that a commit changes", minimum=1, maximum=999_999)
    table_count: int = option(10, help="number of tables", minimum=1, maximum=999_999)
    files_per_commit: int = option(10, help="number of new data files in each snapshot", minimum=1, maximum=999_999)
    partitions: int = option(0, help="number of partitions of each table; 0: unpartitioned", minimum=0, maximum=999)
    columns: int = option(0, help="number of columns with statistics in manifests", minimum=0, maximum=999)
    compressed: bool = option(False, help="whether manifests and manifest lists are compressed, as Iceberg does it")
    overwrite_every: int = option(5, help="a table's n-th snapshots replace all its data files; 0: none do", minimum=0)
    listed_snapshots: int = option(5, help="maximum number of snapshots in a metadata file", minimum=1)
    logged_metadata: int = option(0, help="maximum number of earlier files in the log of a metadata file", minimum=0)
    format_versions: Sequence[str] = option(("2",), help="format versions of the tables in turn: 1, 2, 3")
    deletes_every: int = option(
        0, help="a table's n-th snapshots delete rows (not in version 1); 0: none do", minimum=0
    )
    deletes_per_commit: int = option(
        1, help="delete files, or vectors in one Puffin file, of such a snapshot", minimum=1
    )
    statistics_every: int = option(0, help="a table's n-th snapshots have a statistics file; 0: none do", minimum=0)
    garbage_files: int = option(
        10, help="files of each table that no metadata names, some of them manifests", minimum=0, maximum=99_999_999
    )
    missing_share: float = option(0.0, help="share of the data files that are missing", minimum=0, maximum=1)
    broken_share: float = option(0.0, help="share of the manifests that are missing or truncated", minimum=0, maximum=1)
    file_bytes: int = option(1_000_000, help="least size of a data file; the largest has twice as much", minimum=1)
    newest: datetime = option(datetime(2025, 1, 1, tzinfo=UTC), help="time of the last commit on main")
    interval: timedelta = option(timedelta(minutes=10), help="time between two commits", minimum=0)
    latency: timedelta = option(timedelta(0), help="how long each request to the store takes", minimum=0)
    throttled_share: float = option(0.0, help="share of the requests that are refused once", minimum=0, maximum=0.9)
    changes: str | None = option(None, help="file in which deletions are recorded (default: memory of the process)")

    def as_options(self) -> dict[str, str]:
        """The options that differ from their defaults, as text: whoever has them has the lake."""
        return {name: _text(value) for name, value in self._given()}

    def as_toml(self, *, served: bool = False) -> str:
        """The tables of a configuration file with which any process collects the lake by the connectors ``mock``.

        Args:
            served: whether the files are real ones, on a disk or in a store, so that only the repository is computed.
        """
        given = "".join(f"{name} = {_toml(value)}\n" for name, value in self._given())
        tables = ['[repository]\nname = "mock"\n']
        tables += [] if served else [f"[connectors.{kind}.mock]\n" for kind in _KINDS]
        return "\n".join(table + given for table in tables)

    def _given(self) -> Iterator[tuple[str, object]]:
        for each in fields(self):
            value = getattr(self, each.name)
            if value != each.default:
                yield each.name, value

    def __post_init__(self) -> None:
        """Rejects what describes no lake.

        Raises:
            ConfigurationError: it names the option.
        """
        scheme, separator, rest = self.root.partition("://")
        if not (scheme and separator and rest.strip("/")) or self.root.endswith("/"):
            raise ConfigurationError(f"option 'root' cannot be {self.root!r}: expected SCHEME://PLACE without a last /")
        unknown = [version for version in self.format_versions if version not in _VERSIONS]
        if unknown or not self.format_versions:
            raise ConfigurationError(f"option 'format_versions' has {unknown}: expected at least one of 1, 2, 3")
        if not self.lake.strip():
            raise ConfigurationError("option 'lake' is empty: give the lake a name")
        if self.tables_per_commit > self.table_count:
            raise ConfigurationError(
                f"option 'tables_per_commit' is too large: the lake has {self.table_count} tables (table_count)"
            )
        if self.commits * self.tables_per_commit // self.table_count > 9_999_999:
            raise ConfigurationError("option 'commits' is too large: a table has at most 9,999,999 snapshots")


def _text(value: object) -> str:
    """A value as a command line gives it."""
    if isinstance(value, datetime):
        return json_time(value)
    if isinstance(value, timedelta):
        return str(value.total_seconds())
    return ",".join(value) if isinstance(value, tuple | list) else str(value)


def _toml(value: object) -> str:
    """A value as a configuration file gives it."""
    if isinstance(value, tuple | list):
        return json.dumps(list(value))
    return str(value) if isinstance(value, int | float) else json.dumps(_text(value))
