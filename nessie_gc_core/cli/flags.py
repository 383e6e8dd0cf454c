"""Messages of the core in the words of the command line."""

from __future__ import annotations

import re

_SETTING = re.compile(r"`([a-z][a-z0-9_]*)`")


def with_flags(text: str) -> str:
    """The text with every setting, which the core writes as `` `min_age` ``, as the option that it is here."""
    return _SETTING.sub(lambda found: "--" + found[1].replace("_", "-"), text)
