"""Files of a simulated lake that are hidden behind delete markers, as in a bucket with versioning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from nessie_gc_core.model.versions import (
    FileVersion,
    VersionOutcome,
    VersionStatus,
    hidden,
    shown,
    to_delete,
    to_hide,
    to_purge,
    to_show,
    visible,
)
from nessie_gc_memory.lake import MemoryLake


class MemoryHiding:
    """Hides, shows and purges, and shows the lake's faults."""

    _lake: MemoryLake

    def hide_refusal(self, location: str) -> str | None:
        """Only where the lake keeps versions."""
        return None if self._lake.objects.keeps_versions else f"{location} keeps no versions"

    def release_refusal(self, location: str) -> str | None:
        """What a test says."""
        return self._lake.faults.releasing

    def hide_warnings(self, locations: Sequence[str], duration: timedelta) -> Sequence[str]:
        """There are no rules."""
        return ()

    def hide_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One after the other."""
        objects = self._lake.objects
        for file in files:
            path = location + file.path
            before = objects.versions(path)
            said = self._lake.faults.failed(path, file) or to_hide(before, file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            marker = objects.hide(path, at=self._lake.time)
            self._lake.faults.die(path)
            outcome = hidden(before, objects.versions(path), file, said, marker)
            if outcome.status is not VersionStatus.DONE:
                objects.delete_version(path, marker)
            yield outcome

    def show_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One after the other."""
        objects = self._lake.objects
        for file in files:
            path = location + file.path
            found = objects.versions(path)
            said = self._lake.faults.failed(path, file) or to_show(found, file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            objects.delete_version(path, said.version)
            self._lake.faults.die(path)
            yield shown(objects.versions(path), file, visible(found))

    def purge_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One after the other."""
        objects = self._lake.objects
        for file in files:
            path = location + file.path
            said = self._lake.faults.failed(path, file) or to_purge(objects.versions(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            if said.version:
                objects.delete_version(path, said.version)
            self._lake.faults.die(path)
            if said.marker:
                objects.delete_version(path, said.marker)
            yield VersionOutcome(path=file.path, status=VersionStatus.DONE)

    def version_refusal(self, location: str) -> str | None:
        """Only where the lake keeps versions."""
        return self.hide_refusal(location) or self.release_refusal(location)

    def delete_with_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One after the other."""
        objects = self._lake.objects
        for file in files:
            path = location + file.path
            said = self._lake.faults.failed(path, file) or to_delete(objects.versions(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            for older in said.older:
                objects.delete_version(path, older.version)
            self._lake.faults.die(path)
            for each in (said.current, *said.markers):
                objects.delete_version(path, each.version)
            yield said.done(file)
