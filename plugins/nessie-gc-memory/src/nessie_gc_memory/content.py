"""The reader ``memory``: tables of simulated lakes, in memory or on a disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.errors import MissingFileError, UnknownLocationError, UnreadableFileError
from nessie_gc_core.model.files import FileKind, ReachableFile, StoredNames
from nessie_gc_core.model.locations import LocationRules, places_in, scheme_of
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_memory.lake import MemoryLake
from nessie_gc_memory.objects import PREFIX
from nessie_gc_memory.tables import MEMORY_TABLE

_RULES = LocationRules()
_NAMES = StoredNames(metadata=r"metadata/[0-9]+\.metadata\.json", of_others=r"(?:.*/)?somebody-elses\.csv")


@options
class MemoryContentOptions(ConnectorOptions):
    """Where ``memory://`` paths are looked up."""

    lake: str = option("default", help="name of a simulated lake in this process")


class MemoryContentToFiles(ContentToFiles):
    """Reads tables of the type ``MEMORY_TABLE``.

    It works on executors for lakes that were written to a disk that the executors share. A ``memory://`` path can
    only be read in the process that has the lake; anywhere else it is unreadable, never missing and never empty.
    """

    name = "memory"
    content_types = frozenset({MEMORY_TABLE})
    expandable_kinds = (FileKind.MANIFEST_LIST, FileKind.MANIFEST)
    stored_names = MappingProxyType({MEMORY_TABLE: _NAMES})
    Options = MemoryContentOptions

    def __init__(self, options: MemoryContentOptions) -> None:
        super().__init__(options)
        self._lake_name = options.lake

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        """The metadata file, and the manifest lists of the version's snapshot and of those that tags hold.

        A version without a snapshot id needs the manifest lists of all snapshots.
        """
        path = version.metadata_location
        if not path:
            raise UnreadableFileError(version.content_key, "it has no metadata location")
        metadata = self._read(path, "metadata")
        snapshots, location = _field(path, metadata, "snapshots", dict), _field(path, metadata, "location", str)
        for base in (location, *_texts(path, metadata, "historic-locations")):
            yield ReachableFile(path=path, kind=FileKind.METADATA, location=base)
        for place in _texts(path, metadata, "writes-to") if "writes-to" in metadata else ():
            yield ReachableFile(path=path, kind=FileKind.METADATA, location=place, shared=True)
        wanted = {str(held) for held in _field(path, metadata, "held-snapshot-ids", list)}
        named = version.snapshot_id
        if named is not None and named < 0:
            named = metadata.get("current-snapshot-id")
            wanted.update(() if named is None else (str(named),))
        else:
            wanted.update(snapshots if named is None else (str(named),))
        for snapshot_id in sorted(wanted):
            listed = snapshots.get(snapshot_id)
            if not isinstance(listed, str):
                raise UnreadableFileError(path, f"it does not list the snapshot {snapshot_id}")
            yield ReachableFile(path=listed, kind=FileKind.MANIFEST_LIST, location=location)

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        """The manifests of a manifest list, or the data files of a manifest."""
        if file.kind == FileKind.MANIFEST_LIST:
            content = self._read(file.path, "manifest-list")
            manifests = _texts(file.path, content, "manifests")
            lengths = dict(zip(manifests, content.get("lengths", ()), strict=False))
            for path in manifests:
                yield ReachableFile(path=path, kind=FileKind.MANIFEST, length=lengths.get(path))
        elif file.kind == FileKind.MANIFEST:
            for path in _texts(file.path, self._read(file.path, "manifest"), "files"):
                yield ReachableFile(path=path, kind=FileKind.DATA)

    def named_places(self, version: ContentVersion) -> Iterable[str] | None:
        """Every absolute path in the metadata file, if it is JSON."""
        try:
            return list(_absolute(parsed_json(self._data(version.metadata_location or ""))))
        except (ValueError, UnreadableFileError):
            return None

    def hinted(self, path: str) -> Sequence[str]:
        """A hint is the number of a metadata file beside it."""
        text = self._data(path).decode(errors="replace").strip()
        if not text.isdigit():
            raise UnreadableFileError(path, f"{text!r} is not a number")
        return [f"{path.rpartition('/')[0]}/{text}.metadata.json"]

    def is_apart(self, path: str, live: str) -> bool:
        """By the numbers in the names of the metadata files."""
        for each in (path, live):
            self._read(each, "metadata")
        found, known = (int(each.rpartition("/")[2].removesuffix(".metadata.json")) for each in (path, live))
        return found > known

    def may_be_root(self, path: str) -> bool:
        """Metadata files have one ending."""
        return path.endswith(".metadata.json")

    def _read(self, path: str, expected: str) -> dict[str, Any]:
        try:
            value = parsed_json(self._data(path))
        except ValueError as error:
            raise UnreadableFileError(path, f"it is not JSON: {error}") from error
        if not isinstance(value, dict) or value.get("memory") != expected:
            raise UnreadableFileError(path, f"it is not a {expected} of a simulated table")
        return value

    def _data(self, path: str) -> bytes:
        lake = MemoryLake.existing(self._lake_name)
        if lake is not None and path in lake.faults.reading:
            raise lake.faults.reading[path]
        if not path.startswith(PREFIX):
            return _read_local(path)
        if lake is None:
            raise UnreadableFileError(
                path, f"this process has no simulated lake {self._lake_name!r}; write the lake to a disk"
            )
        stored = lake.objects.get(path)
        if stored is None:
            raise MissingFileError(path, "it does not exist")
        return stored.data if stored.data is not None else b""


def _absolute(value: object) -> Iterator[str]:
    """The texts in a JSON value that name a place."""
    if isinstance(value, str):
        yield from places_in(value)
    elif isinstance(value, dict):
        yield from (place for each in (*value, *value.values()) for place in _absolute(each))
    elif isinstance(value, list):
        yield from (place for each in value for place in _absolute(each))


def _read_local(path: str) -> bytes:
    try:
        if scheme_of(path) != "file":
            raise UnreadableFileError(path, "only memory: and file: paths are read")
        return Path("/" + _RULES.canonical(path).removeprefix("file:///")).read_bytes()
    except FileNotFoundError as error:
        if isinstance(error, MissingFileError):
            raise
        raise MissingFileError(path, "it does not exist") from error
    except UnknownLocationError as error:
        raise UnreadableFileError(path, str(error)) from error
    except OSError as error:
        if isinstance(error, UnreadableFileError):
            raise
        raise UnreadableFileError(path, error.strerror or type(error).__name__) from error


def _field(path: str, value: dict[str, Any], name: str, kind: type[Any]) -> Any:
    found = value.get(name)
    if not isinstance(found, kind):
        raise UnreadableFileError(path, f"its field {name!r} is missing or of the wrong type")
    return found


def _texts(path: str, value: dict[str, Any], name: str) -> Sequence[str]:
    found = _field(path, value, name, list)
    if not all(isinstance(each, str) for each in found):
        raise UnreadableFileError(path, f"its field {name!r} contains something that is not a path")
    return list(found)
