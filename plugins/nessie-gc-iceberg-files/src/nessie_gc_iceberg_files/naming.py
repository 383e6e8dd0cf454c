"""What a metadata file names, whether its meaning is understood or not."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator

from nessie_gc_core.model.locations import places_in
from nessie_gc_iceberg_files.metadata import plain


def named_in_json(data: bytes) -> list[str] | None:
    """Everything in the texts of a JSON file that may be an absolute path or location; ``None`` where it is no JSON.

    Names of fields count too: newer formats may use paths for them.
    """
    try:
        return list(_absolute(json.loads(plain(data))))
    except (ValueError, RecursionError, EOFError, OSError, zlib.error):
        return None


def _absolute(root: object) -> Iterator[str]:
    pending = [root]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield from places_in(value)
        elif isinstance(value, dict):
            pending.extend(value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
