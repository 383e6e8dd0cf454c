"""Lakes that are computed and not stored: any number of references, commits, tables and files, from a few numbers.

:class:`MockLakeSpec` says how large a lake is, and is the options of all connectors named ``mock``; :class:`MockOracle`
says what a collector may delete from it; :class:`MockLake` has the objects themselves, with Iceberg's metadata, which
:class:`nessie_gc_memory.mock.s3_server.ComputedS3Server` serves and :func:`write_lake` writes to a disk;
:func:`commit_records` says what to commit to a real repository.
"""

from __future__ import annotations

from nessie_gc_memory.mock.changes import MockChanges
from nessie_gc_memory.mock.commits import commit_records
from nessie_gc_memory.mock.files import MockFileDeleter, MockFileLister
from nessie_gc_memory.mock.folders import write_lake
from nessie_gc_memory.mock.lake import MockLake, MockObject
from nessie_gc_memory.mock.oracle import MockCounts, MockOracle
from nessie_gc_memory.mock.reader import MockContentToFiles
from nessie_gc_memory.mock.repository import MockRepository
from nessie_gc_memory.mock.spec import MOCK_TABLE, MockLakeSpec

__all__ = [
    "MOCK_TABLE",
    "MockChanges",
    "MockContentToFiles",
    "MockCounts",
    "MockFileDeleter",
    "MockFileLister",
    "MockLake",
    "MockLakeSpec",
    "MockObject",
    "MockOracle",
    "MockRepository",
    "commit_records",
    "write_lake",
]
