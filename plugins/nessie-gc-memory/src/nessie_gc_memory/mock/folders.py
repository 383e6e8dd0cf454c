"""Writes the objects of a computed lake to a folder, for tools that read real files."""

from __future__ import annotations

import os
from pathlib import Path

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_memory.mock.lake import MockLake

_READ = (".json", ".avro")
"""How the names of files with contents end."""


def write_lake(lake: MockLake, folder: Path) -> int:
    """Writes every object of a lake below a new folder, with the times at which the lake has them.

    Metadata, manifest lists and manifests have their contents. Data files, delete files, statistics and garbage have
    their sizes, but take no space where the file system supports sparse files. Metadata names files below the lake's
    ``root``, so tools can read the lake if that is the URI of the folder.

    Args:
        lake: what is written.
        folder: it stands for the root, and must not exist.

    Returns:
        How many files there are.

    Raises:
        ConfigurationError: the folder exists, or cannot be written.
    """
    written = 0
    made: set[Path] = set()
    root = f"{lake.spec.root}/"
    put = lake.changes.put_files()
    try:
        folder.mkdir(parents=True)
        for listed in lake.listing(root):
            for path, modified in zip(listed.paths, listed.modified, strict=True):
                is_read = path.endswith(_READ) or root + path in put
                content = lake.content(root + path) if is_read else None
                target = folder / path
                if target.parent not in made:
                    target.parent.mkdir(parents=True, exist_ok=True)
                    made.add(target.parent)
                _write(target, content, listed.size, modified.timestamp())
                written += 1
    except OSError as error:
        raise ConfigurationError(f"{folder} cannot be written: {error.strerror}; name a new folder") from error
    return written


def _write(path: Path, content: bytes | None, size: int, modified: float) -> None:
    with path.open("xb") as file:
        if content is None or not content.strip(b"\0"):
            file.truncate(size)
        else:
            file.write(content)
    os.utime(path, (modified, modified))
