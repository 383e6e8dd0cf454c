"""Sizes of files as people write them; the units are binary, as in Iceberg: 8 MB are 8 * 1024 * 1024 bytes."""

from __future__ import annotations

import re
from decimal import Decimal

from nessie_gc_core.errors import ConfigurationError

_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[kmgt]?)(i?b)?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str, name: str) -> int:
    """A size in bytes.

    Args:
        text: such as ``8MB``, ``8 MiB`` or ``1.5g``.
        name: of the option, for errors.

    Raises:
        ConfigurationError: it is not a size, or has no unit: a bare number could be meant in bytes or in megabytes.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ConfigurationError(f"`{name}` {text!r} is not a size; give a number with a unit, such as 8MB")
    if text.strip()[-1:].isdigit():
        raise ConfigurationError(f"`{name}` {text!r} has no unit; write {text.strip()}MB or {text.strip()}B")
    return int(Decimal(found["number"]) * 1024 ** _POWERS.get(found["unit"].lower(), 0))


def size_text(bytes_: int) -> str:
    """A size for people, such as ``7.5 MB``."""
    size, units = float(bytes_), ["bytes", "KB", "MB", "GB", "TB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{bytes_:,} bytes" if units[0] == "bytes" else f"{size:,.1f} {units[0]}"
