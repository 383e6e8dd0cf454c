"""Sizes of files as people write them; the units are binary, as in Iceberg: 8 MB are 8 MiB."""

from __future__ import annotations

import re
from decimal import Decimal

from nessie_gc_core.errors import ConfigurationError

_SIZE = re.compile(r"(?P<number>\d+(\.\d+)?)\s*(?P<unit>[kmgtpe]?)(i?b)?", re.IGNORECASE)
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


def parse_size(text: str, name: str) -> int:
    """A size in bytes.

    Args:
        text: such as ``8MiB``, ``8 MB`` (the same) or ``1.5g``.
        name: of the option, for errors.

    Raises:
        ConfigurationError: it is not a size, or has no unit: a bare number could be meant in bytes or in megabytes.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ConfigurationError(f"`{name}` {text!r} is not a size; give a number with a unit, such as 8MiB")
    if text.strip()[-1:].isdigit():
        raise ConfigurationError(f"`{name}` {text!r} has no unit; write {text.strip()}MiB or {text.strip()}B")
    return int(Decimal(found["number"]) * 1024 ** _POWERS.get(found["unit"].lower(), 0))
