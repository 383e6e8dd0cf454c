"""Keys that a store may hold and that are easy to get wrong (S4)."""

from __future__ import annotations

from collections.abc import Callable

PutFile = Callable[[str, str, bytes], None]
"""Stores a file at (location, raw path below it, content) without any connector."""
PutDirectory = Callable[[str, str], None]
"""Makes an empty directory, or the marker that represents one, at (location, raw path), without any connector."""
HasDirectory = Callable[[str, str], bool]
"""Whether the directory, or its marker, is still at (location, raw path)."""
PutLink = Callable[[str, str, str], None]
"""Makes a link at (location, raw path) to a folder, given as a location, without any connector."""

ODD_PATHS: tuple[str, ...] = (
    "a space/b c.parquet",
    "percent%/100%.parquet",
    "encoded%20space%2Fslash.parquet",
    "day=2026-01-31T00:00:00/x:y.parquet",
    "hash#/a#b.parquet",
    "question?/a?b=c&d.parquet",
    "plus+/a+b.parquet",
    'quote\'/"double".parquet',
    "brackets[0]/{curly}(round)*.parquet",
    "back\\slash.parquet",
    "comma,semicolon;equals=at@dollar$.parquet",
    ".hidden",
    ".dot/.nested.parquet",
    "..two-dots/...three",
    "tilde~/trailing.",
    "naïve/Größe/ファイル-😀.parquet",
    "nfc-\u00e9.parquet",
    "nfd-e\u0301.parquet",
    "CASE.parquet",
    "case.parquet",
    "no-ending",
    "/".join(["d" * 99] * 10),
)
"""Keys that both disks and object stores can hold; a store that cannot hold one leaves it out of ``odd_paths``."""

OBJECT_STORE_PATHS: tuple[str, ...] = ("doubled//slash.parquet", "a/./b.parquet", "a//", "//leading.parquet")
"""Keys that only object stores hold: on a disk they are other names of the same file, or none.

``a//`` and the like are markers of directories to some stores; leave out what yours does not keep.
"""
