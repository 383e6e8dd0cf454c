"""JSON and TOML from outside: what nests deeper than every later step can follow is refused where it is read (S33)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterable
from typing import Any

MOST_LEVELS = 250
"""How deep values may nest; a column of a table takes three levels for every struct that it is in."""
_CONTAINERS = frozenset({dict, list})


class TooDeepError(ValueError):
    """A text nests deeper than :data:`MOST_LEVELS`."""

    def __init__(self) -> None:
        super().__init__(f"its values are nested too deeply (more than {MOST_LEVELS} levels)")


def parsed_json(text: bytes | str) -> object:
    """JSON.

    Raises:
        ValueError: it is none, or (:class:`TooDeepError`) nested too deeply.
    """
    try:
        found: object = json.loads(text)
    except RecursionError:
        raise TooDeepError from None
    _check_depth(found)
    return found


def parsed_toml(text: str) -> dict[str, Any]:
    """TOML.

    Raises:
        ValueError: it is none, or (:class:`TooDeepError`) nested too deeply.
    """
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise TooDeepError from None
    _check_depth(found)  # dots in a name nest as well
    return found


def _check_depth(value: object) -> None:
    """Goes through the values level by level, because a function that calls itself could not.

    Raises:
        TooDeepError: there are too many levels.
    """
    level, levels = [value], 1
    while level := [inner for each in level for inner in _containers_in(each)]:
        levels += 1
        if levels > MOST_LEVELS:
            raise TooDeepError


def _containers_in(value: object) -> Iterable[object]:
    """The objects and lists in one; most have none, which their types tell quickly."""
    inside: Collection[object] = ()
    if isinstance(value, dict):
        inside = value.values()
    elif isinstance(value, list):
        inside = value
    if _CONTAINERS.isdisjoint(map(type, inside)):
        return ()
    return [each for each in inside if type(each) in _CONTAINERS]
