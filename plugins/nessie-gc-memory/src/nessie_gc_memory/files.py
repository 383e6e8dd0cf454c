"""The lister and the deleter ``memory``: objects of a simulated lake."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import FileDeleter, FileLister
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus, FileReference
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome, MoveStatus
from nessie_gc_memory.hiding import MemoryHiding
from nessie_gc_memory.lake import MemoryLake
from nessie_gc_memory.objects import PREFIX, SCHEME
from nessie_gc_memory.tagging import MemoryTagging


@options
class MemoryFilesOptions(ConnectorOptions):
    """Which objects."""

    lake: str = option("default", help="name of a simulated lake in this process")


class MemoryFileLister(FileLister):
    """Lists ``memory://`` locations; it has a clock, splits listings, and shows the lake's faults."""

    name = "memory"
    schemes = frozenset({SCHEME})
    Options = MemoryFilesOptions
    executor_safe = False

    def __init__(self, options: MemoryFilesOptions) -> None:
        super().__init__(options)
        self._lake = MemoryLake.named(options.lake)

    def list_files(self, location: str) -> Iterator[FileReference]:
        """All objects below a location, by path."""
        faults = self._lake.faults
        for path, stored in self._lake.objects.below(location):
            if path not in faults.unlisted and not path.endswith("/"):
                yield FileReference(
                    location=location,
                    path=path.removeprefix(location),
                    size=stored.size,
                    modified=None if path in faults.unknown_modified else stored.modified,
                )
        yield from faults.listed_besides.get(location, ())
        if location in faults.listing:
            raise faults.listing[location]

    def split_listing(self, location: str, parts: int) -> Sequence[str]:
        """Parts by a hash of the path."""
        return [f"{number}/{max(parts, 1)}" for number in range(max(parts, 1))]

    def list_part(self, location: str, part: str) -> Iterator[FileReference]:
        """The files of one part."""
        number, _, count = part.partition("/")
        for file in self.list_files(location):
            if zlib.crc32(file.path.encode("utf-8", "surrogatepass")) % int(count) == int(number):
                yield file

    def look_up(self, location: str, paths: Sequence[str]) -> Iterator[FileReference]:
        """Those that the listing of the location has."""
        wanted = frozenset(paths)
        yield from (file for file in self.list_files(location) if file.path in wanted)

    def store_time(self, location: str) -> datetime:
        """The lake's clock."""
        return self._lake.time


class MemoryFileDeleter(MemoryHiding, MemoryTagging, FileDeleter):
    """Deletes from ``memory://`` locations; it can tell what was not there, and shows the lake's faults."""

    name = "memory"
    schemes = frozenset({SCHEME})
    Options = MemoryFilesOptions
    executor_safe = False
    batch_size = 100

    def __init__(self, options: MemoryFilesOptions) -> None:
        super().__init__(options)
        self._lake = MemoryLake.named(options.lake)

    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        """Deletes one after the other."""
        faults = self._lake.faults
        for file in files:
            path = location + file.path
            faults.die(path)
            if path.endswith("/"):
                yield DeleteOutcome(path=file.path, status=DeleteStatus.FAILED, reason="it is a directory marker")
                continue
            if path in faults.deleting:
                yield DeleteOutcome(path=file.path, status=DeleteStatus.FAILED, reason=faults.deleting[path])
                continue
            was_there = self._lake.objects.delete(path)
            yield DeleteOutcome(path=file.path, status=DeleteStatus.DELETED if was_there else DeleteStatus.ALREADY_GONE)

    def move_refusal(self, location: str, to: str) -> str | None:
        """All objects of a lake are in one store."""
        return None if to.startswith(PREFIX) else f"{to} is not in a simulated lake"

    def move_files(self, location: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """Copies, then deletes, as an object store does; a copy is as young as any new object."""
        objects, faults, refusal = self._lake.objects, self._lake.faults, self.move_refusal(location, to)
        for move in moves:
            path, new_path = location + move.path, to + move.to_path
            reason = refusal or faults.deleting.get(path)
            if reason is not None:
                yield MoveOutcome(path=move.path, status=MoveStatus.FAILED, reason=reason)
                continue
            stored, there = objects.get(path), objects.get(new_path)
            if stored is None:
                status = MoveStatus.MISSING if there is None else MoveStatus.MOVED
                yield MoveOutcome(path=move.path, status=status)
                continue
            if there is not None and (there.size, there.data) != (stored.size, stored.data):
                yield MoveOutcome(path=move.path, status=MoveStatus.EXISTS)
                continue
            content = stored.data if stored.data is not None else stored.size
            objects.put(new_path, content, modified=self._lake.time)
            faults.die(path)
            objects.delete(path)
            yield MoveOutcome(path=move.path, status=MoveStatus.MOVED)
