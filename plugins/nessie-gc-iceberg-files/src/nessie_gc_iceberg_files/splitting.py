"""Cuts a location into parts that can be listed at the same time.

Key ranges are not used: some S3 servers list in directory order and take StartAfter by it.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from typing import TypedDict

from nessie_gc_iceberg_files.stores import Store

_MOST_NAMES = 2000
"""A level with more names than this is not cut up: finding its prefixes would cost as much as listing it."""


class Parts(TypedDict):
    """What a part's name says, as JSON: prefixes relative to the location."""

    whole: list[str]
    """Prefixes that are listed with everything below them."""
    level: list[str]
    """Prefixes of which only the files directly in them are listed."""


def split(store: Store, prefix: str, parts: int) -> Sequence[str]:
    """At most ``parts`` names of parts that together are everything below the prefix."""
    cut = len(prefix)
    waiting, whole, level = deque([prefix]), list[str](), list[str]()
    while waiting and len(waiting) + len(whole) < parts:
        current = waiting.popleft()
        found = store.level(current, _MOST_NAMES)
        left_alone = store.take_left_alone()  # they are counted where the level is listed
        if found is None:
            whole.append(current[cut:])
            continue
        if found.files or left_alone:
            level.append(current[cut:])
        waiting.extend(found.prefixes)
    whole.extend(current[cut:] for current in waiting)
    return [json.dumps(part) for part in _grouped(whole, level, parts)]


def _grouped(whole: Sequence[str], level: Sequence[str], parts: int) -> Sequence[Parts]:
    count = max(1, min(parts, len(whole) + len(level)))
    groups: list[Parts] = [{"whole": [], "level": []} for _ in range(count)]
    for index, prefix in enumerate(whole):
        groups[index % count]["whole"].append(prefix)
    for index, prefix in enumerate(level):
        groups[(len(whole) + index) % count]["level"].append(prefix)
    return groups
