"""Properties of Iceberg tables that say what a collector may do."""

from __future__ import annotations

from collections.abc import Mapping

GC_ENABLED = "gc.enabled"
"""The property by which a table says whether its files may be deleted."""


def gc_enabled(properties: Mapping[str, object]) -> bool:
    """Whether files of a table with these properties may be deleted.

    As in Iceberg (``PropertyUtil.propertyAsBoolean``): yes where the property is missing, else only where it is
    ``true`` in whatever case; a text that is neither true nor false is no.
    """
    return str(properties.get(GC_ENABLED, "true")).lower() == "true"
