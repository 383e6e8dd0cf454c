"""Files of a simulated lake that are in quarantine with a tag, as in a bucket whose objects have tags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nessie_gc_core.model.object_tags import tagged, to_purge_tagged, to_tag, to_untag
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus
from nessie_gc_memory.lake import MemoryLake


class MemoryTagging:
    """Tags, untags and purges, and shows the lake's faults."""

    _lake: MemoryLake

    def tag_refusal(self, location: str) -> str | None:
        """What a test says."""
        return self._lake.faults.tagging

    def tag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One after the other."""
        objects = self._lake.objects
        for file in files:
            path = location + file.path
            before = objects.tagged(path)
            said = self._lake.faults.failed(path, file) or to_tag(before, file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            assert before is not None, "its outcome is MISSING"
            objects.set_tags(path, said)
            self._lake.faults.die(path)
            after = objects.tagged(path)
            outcome = tagged(before, after, file)
            if outcome.status is not VersionStatus.DONE and after is not None and after.mark == file.marker:
                objects.set_tags(path, after.unmarked())
            yield outcome

    def untag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One after the other."""
        objects = self._lake.objects
        for file in files:
            path = location + file.path
            said = self._lake.faults.failed(path, file) or to_untag(objects.tagged(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            objects.set_tags(path, said)
            self._lake.faults.die(path)
            yield VersionOutcome(path=file.path, status=VersionStatus.DONE)

    def purge_tagged(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One after the other."""
        objects = self._lake.objects
        for file in files:
            path = location + file.path
            said = self._lake.faults.failed(path, file) or to_purge_tagged(objects.tagged(path), file)
            if isinstance(said, VersionOutcome):
                yield said
                continue
            objects.delete(path)
            self._lake.faults.die(path)
            yield VersionOutcome(path=file.path, status=VersionStatus.DONE)
