"""The lister and the deleter ``mock``: objects of a computed lake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from nessie_gc_core.connectors import FileDeleter, FileLister, ListingPart
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus, FileReference
from nessie_gc_core.model.relations import LISTED_FILES
from nessie_gc_memory.mock.lake import Listed, MockLake
from nessie_gc_memory.mock.pace import Pace
from nessie_gc_memory.mock.spec import SCHEME, MockLakeSpec

_PAGE = 1000
"""Files in each response of an object store."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class MockFileLister(FileLister):
    """Lists ``mock://`` locations, and computes every name, size and time at that moment."""

    name = "mock"
    schemes = frozenset({SCHEME})
    shareable = True
    Options = MockLakeSpec

    def __init__(self, options: MockLakeSpec) -> None:
        super().__init__(options)
        self._lake = MockLake(options)
        self._pace = Pace(options)

    def list_files(self, location: str) -> Iterator[FileReference]:
        """All objects below a location."""
        return self.list_part(location, "0/1")

    def split_listing(self, location: str, parts: int) -> Sequence[str]:
        """Parts with equally many groups of files."""
        return [f"{number}/{max(parts, 1)}" for number in range(max(parts, 1))]

    def list_part(self, location: str, part: str) -> Iterator[FileReference]:
        """The objects of one part."""
        for listed in self._listing(location, part):
            for path, modified in zip(listed.paths, listed.modified, strict=True):
                yield FileReference(location=location, path=path, size=listed.size, modified=modified)

    def list_batches(self, location: str, part: str | None) -> Iterator[pa.RecordBatch | ListingPart]:
        """The same by columns."""
        for listed in self._listing(location, part or "0/1"):
            times = {time: (time - _EPOCH) // _MICROSECOND for time in set(listed.modified)}
            columns = [listed.paths, [listed.size] * len(listed.paths), [times[time] for time in listed.modified]]
            arrays = [pa.array(column, field.type) for column, field in zip(columns, LISTED_FILES, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=LISTED_FILES)

    def look_up(self, location: str, paths: Sequence[str]) -> Iterator[FileReference]:
        """Those that the listing of the location has."""
        lake = self._lake.now()
        for path in dict.fromkeys(paths):
            self._pace.request()
            found = lake.object(location + path)
            if found is not None:
                yield FileReference(location=location, path=path, size=found.size, modified=found.modified)

    def _listing(self, location: str, part: str) -> Iterator[Listed]:
        number, _, parts = part.partition("/")
        due = 0
        self._pace.request()
        lake = self._lake.now()
        for listed in lake.listing(location, part=int(number), parts=int(parts)):
            due += len(listed.paths)
            while due > _PAGE:
                due -= _PAGE
                self._pace.request()
            yield listed


class MockFileDeleter(FileDeleter):
    """Records what was deleted from ``mock://`` locations; it can tell what was not there.

    In memory, only this process knows what it deleted: on executors, name a file (the option ``changes``).
    """

    name = "mock"
    schemes = frozenset({SCHEME})
    shareable = True
    Options = MockLakeSpec

    def __init__(self, options: MockLakeSpec) -> None:
        super().__init__(options)
        self._lake = MockLake(options)
        self._pace = Pace(options)

    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        """Deletes all of them in one request."""
        if not files:
            return
        self._pace.request()
        lake = self._lake.now()
        there = {file.path for file in files if lake.object(location + file.path) is not None}
        lake.changes.delete(location + path for path in there)
        for file in files:
            status = DeleteStatus.DELETED if file.path in there else DeleteStatus.ALREADY_GONE
            yield DeleteOutcome(path=file.path, status=status)
