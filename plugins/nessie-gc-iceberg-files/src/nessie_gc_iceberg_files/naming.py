"""What a metadata file names, whether its meaning is understood or not."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterator

from nessie_gc_iceberg_files.metadata import plain

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:/|/")


def absolute_texts(data: bytes) -> list[str] | None:
    """Every text in a JSON file that begins like an absolute path or location; ``None`` where it is no JSON.

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
            if _ABSOLUTE.match(value):
                yield value
        elif isinstance(value, dict):
            pending.extend(value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
