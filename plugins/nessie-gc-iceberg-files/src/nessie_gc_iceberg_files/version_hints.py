"""What a ``version-hint.text`` names: a number, as Iceberg's ``HadoopTableOperations`` writes it, a name or a path."""

from __future__ import annotations

import re

from nessie_gc_core.errors import UnreadableFileError

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


def _names(version: str) -> list[str]:
    return [prefix + version + ending for ending in _ENDINGS for prefix in ("v", "")]
