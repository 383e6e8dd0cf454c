"""What the deleter does with tags of objects: it asks the store of a location."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus
from nessie_gc_iceberg_files.lister import base_of
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.stores import ObjectTags, one_line

_Verb = Callable[[ObjectTags], Callable[[str, Sequence[FileVersion]], Iterator[VersionOutcome]]]


class TagsOfObjects:
    """Tags, untags and purges files that stay where they are."""

    _stores: Stores

    def tag_refusal(self, location: str) -> str | None:
        """Only in an S3 bucket that keeps tags of objects, and lets them be read and written."""
        try:
            place = base_of(location)
            tags = self._stores.of(place).tags()
            return _untagged(place.scheme) if tags is None else tags.tag_refusal(place.key)
        except NessieGcError as error:
            return one_line(error)

    def tag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One outcome per file."""
        return self._by_tag(location, files, lambda tags: tags.tag)

    def untag_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One outcome per file."""
        return self._by_tag(location, files, lambda tags: tags.untag)

    def purge_tagged(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One outcome per file."""
        return self._by_tag(location, files, lambda tags: tags.purge)

    def _by_tag(self, location: str, files: Sequence[FileVersion], verb: _Verb) -> Iterator[VersionOutcome]:
        try:
            place = base_of(location)
            tags = self._stores.of(place).tags()
            reason = _untagged(place.scheme)
        except NessieGcError as error:
            tags, reason = None, one_line(error)
        if tags is None:
            yield from (_failed(file, reason) for file in files)
            return
        odd = [file for file in files if not file.path or file.path.endswith("/")]
        yield from (_failed(file, "it is not a file: its path is empty or ends in a slash") for file in odd)
        yield from verb(tags)(place.key, [file for file in files if file not in odd])


def _untagged(scheme: str) -> str:
    return f"files on {scheme}:// cannot be tagged; name a folder as `quarantine`"


def _failed(file: FileVersion, reason: str) -> VersionOutcome:
    return VersionOutcome(path=file.path, status=VersionStatus.FAILED, reason=reason)
