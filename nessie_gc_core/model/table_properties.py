"""Properties of Iceberg tables that say what a collector may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

GC_ENABLED = "gc.enabled"
"""The property by which a table says whether its files may be deleted."""


WRITE_PATHS = ("write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path")
"""Properties with places that writers use beside the location, or did so in older versions of Iceberg."""


def write_paths(properties: Mapping[str, object]) -> Sequence[str]:
    """The raw places that a table's properties name for new files; the older ones that they named are not known."""
    found = (properties.get(name) for name in WRITE_PATHS)
    return list(dict.fromkeys(path for path in found if isinstance(path, str)))


def metadata_folder(location: str, properties: Mapping[str, object]) -> str:
    """The raw place of a table's next metadata file, with a slash at its end, where Iceberg's writers put it."""
    named = properties.get("write.metadata.path")
    folder = named if isinstance(named, str) and named else f"{location.rstrip('/')}/metadata"
    return folder.rstrip("/") + "/"


def gc_enabled(properties: Mapping[str, object]) -> bool:
    """Whether files of a table with these properties may be deleted.

    As in Iceberg (``PropertyUtil.propertyAsBoolean``): yes where the property is missing, else only where it is
    ``true`` in whatever case; a text that is neither true nor false is no.
    """
    return str(properties.get(GC_ENABLED, "true")).lower() == "true"
