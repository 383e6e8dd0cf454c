"""What a ``version-hint.text`` names: a number, as Iceberg's ``HadoopTableOperations`` writes it, a name or a path."""

from __future__ import annotations

import re

from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_iceberg_files.metadata import Metadata

_ENDINGS = (
    ".metadata.json",
    ".gz.metadata.json",
    ".metadata.json.gz",
    ".zstd.metadata.json",
    ".metadata.json.zstd",
)
_AHEAD = 20
"""So many versions that follow the hint count as named: readers go on from it while there is a next file."""
_NUMBER = re.compile(r"[0-9]{1,18}")
_NAME = re.compile(r"[\w.=%+@~-]{1,512}")
_PATH = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?/[^\s\x00-\x1f]{1,2048}", re.IGNORECASE)


def metadata_of_hint(path: str, data: bytes) -> list[str]:
    """Raw paths of the metadata files that a hint may name; not all of them exist.

    Raises:
        UnreadableFileError: the content is none that is known.
    """
    try:
        text = data.decode("utf-8-sig").strip()
    except UnicodeDecodeError as error:
        raise UnreadableFileError(path, "it is not UTF-8") from error
    folder = path.rpartition("/")[0] + "/"
    if _NUMBER.fullmatch(text):
        number = int(text)
        later = (str(number + more) for more in range(_AHEAD + 1))
        return [folder + name for version in dict.fromkeys((text, *later)) for name in _names(version)]
    if _PATH.fullmatch(text):
        return [text]
    if _NAME.fullmatch(text):
        is_whole = text.endswith((".json", *_ENDINGS))
        return [folder + text] if is_whole else [folder + name for name in _names(text)]
    raise UnreadableFileError(path, f"its content {text[:80]!r} is neither a number nor the name of a metadata file")


def is_apart(found: Metadata, live: Metadata) -> bool:
    """Whether a table's live metadata does not know a state as an earlier one of its own.

    It knows those in its metadata log, and those whose current snapshot it lists or has listed. What is older than all
    that its log remembers counts as known.

    Raises:
        UnreadableFileError: one of them does not say when it was written.
    """
    written, now = _written(found), _written(live)
    uuids = {metadata.fields.get("table-uuid") for metadata in (found, live)} - {None}
    if written > now or len(uuids) > 1:
        return True
    log = live.entries("metadata-log")
    if any(_name(entry.get("metadata-file")) == _name(found.path) for entry in log):
        return False
    times = [time for entry in log if isinstance(time := entry.get("timestamp-ms"), int)]
    snapshot = found.current_snapshot_id()
    if written == now or written < min(times, default=written) or snapshot is None:
        return False
    return snapshot not in {*live.snapshots, *live.logged_snapshot_ids()}


def _written(metadata: Metadata) -> int:
    written = metadata.fields.get("last-updated-ms")
    if isinstance(written, bool) or not isinstance(written, int):
        raise UnreadableFileError(metadata.path, f"its last-updated-ms is {written!r}")
    return written


def _name(path: object) -> str:
    return str(path).rpartition("/")[2]


def _names(version: str) -> list[str]:
    return [prefix + version + ending for ending in _ENDINGS for prefix in ("v", "")]
