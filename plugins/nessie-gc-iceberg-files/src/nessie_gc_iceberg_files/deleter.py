"""The deleter ``iceberg-files``: local disks, S3, GCS and ADLS, and what fsspec knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

from nessie_gc_core.connectors import CredentialSource, FileDeleter
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.files import DeleteOutcome, FileReference
from nessie_gc_core.model.quarantine import FileMove, MoveOutcome
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus
from nessie_gc_core.model.work import Traffic
from nessie_gc_iceberg_files.fsspec_options import FALLBACK_SCHEMES
from nessie_gc_iceberg_files.lister import base_of
from nessie_gc_iceberg_files.local_moves import move_refusal
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.options import StorageOptions
from nessie_gc_iceberg_files.places import S3_SCHEMES, SCHEMES, Place
from nessie_gc_iceberg_files.s3_deletions import BATCH
from nessie_gc_iceberg_files.stores import Versions, failed, one_line, unmoved
from nessie_gc_iceberg_files.tagging import TagsOfObjects
from nessie_gc_iceberg_files.traffic import taken


class IcebergFileDeleter(TagsOfObjects, FileDeleter):
    """Deletes in bulk where the store can, and reads the answer for each key.

    On S3 a file that was not there counts as deleted, because S3 does not say. Directories, and objects whose
    key ends in a slash, are refused.
    """

    name = "iceberg-files"
    schemes = SCHEMES
    fallback_schemes = FALLBACK_SCHEMES
    shareable = True
    batch_size = 4 * BATCH  # S3 gets them as several requests at a time
    Options = StorageOptions

    def __init__(self, options: StorageOptions) -> None:
        super().__init__(options)
        self._stores = Stores(options.properties)

    def use_credentials(self, source: CredentialSource) -> None:
        """Where credentials come from that replace the configured ones."""
        self._stores.use_credentials(source)

    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        """One outcome per file."""
        paths: list[str] = []
        for file in files:
            if file.location != location:
                yield failed(file.path, f"it belongs to {file.location}, not to {location}")
            elif not _names_a_file(file.path):
                yield failed(file.path, "it is not a file: its path is empty or ends in a slash")
            else:
                paths.append(file.path)
        if not paths:
            return
        try:
            place = base_of(location)
            store = self._stores.of(place)
        except NessieGcError as error:
            reason = one_line(error)
            yield from (failed(path, reason) for path in paths)
            return
        without_size = {file.path for file in files if not file.size}  # a directory has none
        refused = store.refusals(place.key, [path for path in paths if path in without_size])
        yield from (failed(path, reason) for path, reason in refused.items())
        yield from store.delete(place.key, [path for path in paths if path not in refused])

    def move_refusal(self, location: str, to: str) -> str | None:
        """Within one bucket, or on the local disk; other stores cannot."""
        place, target = base_of(location), base_of(to)
        if place.authority != target.authority or not _are_alike(place.scheme, target.scheme):
            return f"{to} is in another bucket; name a quarantine in the same"
        if not self._stores.of(place).can_move:
            return f"files on {place.scheme}:// cannot be moved"
        if not self._stores.have_same_access(place, target):
            return f"{to} has other credentials than {location}; name a quarantine with the same"
        return move_refusal(place.key, target.key) if place.scheme == "file" else None

    def move_files(self, location: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        """One outcome per file."""
        try:
            refusal = self.move_refusal(location, to)
            place, target = base_of(location), base_of(to)
            store = self._stores.of(place)
        except NessieGcError as error:
            refusal = one_line(error)
        if refusal is not None:
            yield from (unmoved(move, refusal) for move in moves)
            return
        odd = [move for move in moves if not _names_a_file(move.path) or not _names_a_file(move.to_path)]
        yield from (unmoved(move, "it is not a file: its path is empty or ends in a slash") for move in odd)
        yield from store.move(place.key, target.key, [move for move in moves if move not in odd])

    def hide_refusal(self, location: str) -> str | None:
        """Only in a bucket on S3 or GCS that keeps versions now, and lets them go."""
        try:
            place, versions = self._versions(location)
        except NessieGcError as error:
            return one_line(error)
        return _unversioned(place) if versions is None else versions.hide_refusal()

    def release_refusal(self, location: str) -> str | None:
        """Where versions cannot be deleted by their ids."""
        place, versions = self._versions(location)
        return _unversioned(place) if versions is None else versions.release_refusal()

    def hide_warnings(self, locations: Sequence[str], duration: timedelta) -> Sequence[str]:
        """Lifecycle rules of the bucket."""
        _, versions = self._versions(locations[0])
        keys = [base_of(location).key for location in locations]
        return () if versions is None else versions.hide_warnings(keys, duration)

    def hide_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One outcome per file."""
        return self._by_version(location, files, lambda versions: versions.hide)

    def show_files(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One outcome per file."""
        return self._by_version(location, files, lambda versions: versions.show)

    def purge_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One outcome per file."""
        return self._by_version(location, files, lambda versions: versions.purge)

    def version_refusal(self, location: str) -> str | None:
        """Only in a bucket on S3 or GCS that keeps versions now, and lets them go."""
        place, versions = self._versions(location)
        return f"{place.scheme}:// has no versions here" if versions is None else versions.version_refusal()

    def delete_with_versions(self, location: str, files: Sequence[FileVersion]) -> Iterator[VersionOutcome]:
        """One outcome per file."""
        return self._by_version(location, files, lambda versions: versions.delete_all)

    def _versions(self, location: str) -> tuple[Place, Versions | None]:
        place = base_of(location)
        return place, self._stores.of(place).versions()

    def _by_version(
        self,
        location: str,
        files: Sequence[FileVersion],
        verb: Callable[[Versions], Callable[[str, Sequence[FileVersion]], Iterator[VersionOutcome]]],
    ) -> Iterator[VersionOutcome]:
        reason: str | None = None
        try:
            place, versions = self._versions(location)
        except NessieGcError as error:
            reason, versions = one_line(error), None
        if versions is None:
            reason = _unversioned(place) if reason is None else reason
            yield from (_not_by_version(file, reason) for file in files)
            return
        odd = [file for file in files if not _names_a_file(file.path)]
        yield from (_not_by_version(file, "it is not a file: its path is empty or ends in a slash") for file in odd)
        yield from verb(versions)(place.key, [file for file in files if file not in odd])

    def is_empty_directory(self, location: str) -> bool:
        """On a local disk; elsewhere there are no directories."""
        place = base_of(location)
        return self._stores.of(place).is_empty_directory(place.key)

    def remove_empty_directory(self, location: str) -> bool:
        """From the innermost outwards."""
        place = base_of(location)
        return self._stores.of(place).remove_empty_directory(place.key)

    def take_traffic(self) -> Traffic:
        """Requests, bytes and waiting of this thread's calls; those of reader, lister and deleter together."""
        return taken()

    def close(self) -> None:
        """Closes the clients."""
        self._stores.close()


def _are_alike(scheme: str, other: str) -> bool:
    return scheme == other or {scheme, other} <= S3_SCHEMES


def _names_a_file(path: str) -> bool:
    return bool(path) and not path.endswith("/")


def _unversioned(place: Place) -> str:
    return f"files on {place.scheme}:// cannot be hidden as versions; name a folder as `quarantine`"


def _not_by_version(file: FileVersion, reason: str) -> VersionOutcome:
    return VersionOutcome(path=file.path, status=VersionStatus.FAILED, reason=reason)
