"""Deals data files out over new manifests, partition by partition, where Iceberg's Spark action may not do it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from nessie_gc_core.model.manifests import FileEntry, Manifest, ManifestContent
from nessie_gc_core.services.manifests.planning import ManifestGroup

MOST_FILES = 200_000
"""Files of one table that are distributed in the memory of the driver."""


def can_be_placed(groups: Sequence[ManifestGroup]) -> bool:
    """Whether the data files of the chosen manifests are few enough."""
    chosen = (manifest for group in _of_data(groups) for manifest in group.chosen)
    return sum(manifest.files or 0 for manifest in chosen) <= MOST_FILES


def placed(groups: Sequence[ManifestGroup], entries: Callable[[Manifest], Iterable[FileEntry]]) -> dict[str, int]:
    """Raw paths of data files, each with the number of its new manifest.

    The files of one partition get one number, and a number is used until its files fill a manifest of the target size,
    on the assumption that all entries of a manifest have the same size.

    Args:
        groups: what is planned for a table; delete manifests are skipped.
        entries: reads those of a manifest.
    """
    found: dict[str, int] = {}
    number = 0
    for group in _of_data(groups):
        sized = [
            (entry, manifest.length / (manifest.files or 1)) for manifest in group.chosen for entry in entries(manifest)
        ]
        sized.sort(key=lambda each: _place(each[0]))
        filled = 0.0
        number += 1
        for _, files in groupby(sized, key=lambda each: _place(each[0])):
            of_partition = list(files)
            size = sum(size for _, size in of_partition)
            if filled and filled + size > group.target_bytes:
                filled, number = 0.0, number + 1
            filled += size
            found.update((entry.path, number) for entry, _ in of_partition)
    return found


def _of_data(groups: Sequence[ManifestGroup]) -> list[ManifestGroup]:
    return [group for group in groups if group.chosen and group.content is ManifestContent.DATA]


def _place(entry: FileEntry) -> tuple[object, ...]:
    """Sorts by partition, null first and NaN last."""
    return tuple(
        (0,) if value is None else (2,) if isinstance(value, float) and math.isnan(value) else (1, value)
        for value in entry.partition
    )
