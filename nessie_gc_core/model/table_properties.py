"""Properties of Iceberg tables that say what a collector may do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

GC_ENABLED = "gc.enabled"
"""The property by which a table says whether its files may be deleted."""
MANIFEST_TARGET_SIZE = "commit.manifest.target-size-bytes"
"""The property by which a table says how large its manifests should be, in bytes."""
DEFAULT_MANIFEST_TARGET_SIZE = 8 << 20
"""What holds where a table says nothing; the same as in Iceberg."""
WRITE_PATHS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""Properties with places that writers use beside the location, or did so in older versions of Iceberg."""

XTABLE = "XTABLE_METADATA"
"""The property of metadata that Apache XTable writes from a table of another format; also in summaries of snapshots."""


def write_paths(properties: Mapping[str, object]) -> Sequence[str]:
    """The raw places that a table's properties name for new files; the older ones that they named are not known."""
    found = (properties.get(name) for name in WRITE_PATHS)
    return list(dict.fromkeys(path for path in found if isinstance(path, str)))


def metadata_folder(location: str, properties: Mapping[str, object]) -> str:
    """The raw place of a table's next metadata file, with a slash at its end, where Iceberg's writers put it."""
    named = properties.get("write.metadata.path")
    folder = named if isinstance(named, str) and named else f"{location.rstrip('/')}/metadata"
    return folder.rstrip("/") + "/"


_LOCATIONS: Mapping[str, re.Pattern[str]] = {
    "AWS S3 Tables": re.compile(r"s3[an]?://[^/]*--table-s3(/.*)?", re.IGNORECASE),
    "Databricks": re.compile(r".*/__unitystorage/.*"),
}
_AMORO_SWITCHES = (
    "self-optimizing.enabled",
    "clean-orphan-file.enabled",
    "clean-orphan-file.enable",
    "table-expire.enabled",
)


def product_of(location: str, properties: Mapping[str, object]) -> str | None:
    """The product that maintains a table itself, by what it writes; ``None`` if nothing says so.

    Sources: the user guide of Amazon S3 on tables in table buckets (warehouse locations ``s3://…--table-s3``); Delta's
    ``IcebergConverter`` (properties ``delta-version`` and ``delta-timestamp`` of metadata that UniForm writes);
    ``TableProperties`` of Amoro; ``TableSyncMetadata`` of Apache XTable.
    """
    by_location = next((name for name, place in _LOCATIONS.items() if place.fullmatch(location)), None)
    if by_location is not None:
        return by_location
    if XTABLE in properties:
        return "Apache XTable"
    if "delta-version" in properties or "delta-timestamp" in properties:
        return "Databricks"
    switched_on = any(str(properties.get(name, "")).lower() == "true" for name in _AMORO_SWITCHES)
    return "Amoro" if switched_on or "self-optimizing.group" in properties else None


def gc_enabled(properties: Mapping[str, object]) -> bool:
    """Whether files of a table with these properties may be deleted.

    As in Iceberg (``PropertyUtil.propertyAsBoolean``): yes where the property is missing, else only where it is
    ``true`` in whatever case; a text that is neither true nor false is no.
    """
    return str(properties.get(GC_ENABLED, "true")).lower() == "true"
