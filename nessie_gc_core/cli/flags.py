"""Messages of the core in the words of the command line."""

from __future__ import annotations

import dataclasses
import functools
import re

from nessie_gc_core.config.settings import COMMAND_LINE_ONLY, SETTINGS
from nessie_gc_core.plugins import installed

_SETTING = re.compile(r"`([a-z][a-z0-9_]*)`")


def with_flags(text: str) -> str:
    """The text with every setting, which the core writes as `` `min_age` ``, as the option that it is here."""
    return _SETTING.sub(_flag, text) if "`" in text else text


def _flag(found: re.Match[str]) -> str:
    return "--" + found[1].replace("_", "-") if found[1] in _settings() else found[0]


@functools.cache
def _settings() -> frozenset[str]:
    """The names of all settings and parameters; whatever else stands between such marks came from data."""
    groups = (*SETTINGS, *(service.Parameters for service in installed().services.by_name().values()))
    return frozenset(field.name for group in groups for field in dataclasses.fields(group)) | COMMAND_LINE_ONLY
