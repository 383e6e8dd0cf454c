"""A file in which a run finds what the run before it could not read, so that only what is new fails it (S6).

Two runs name the same thing if it is at the same place, for the same kind of reason. A kind is a reason without its
paths, quotations and numbers, which differ from day to day.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.text import json_time
from nessie_gc_core.services.output_files import check_output

_FORMAT = "nessie-gc-known-unknowns-1"
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\S*/\S*|\S*\d\S*")
"""What may differ from run to run although nothing new is wrong: quotations, paths, and words with a number in them."""


UNKNOWN, UNREADABLE = "unknown", "unreadable"
"""The lists of a report that make it fail."""


class Thing(NamedTuple):
    """Something that a run could not read, or left alone therefore."""

    list: str
    """The list of the report that names it."""
    place: str
    """A location, or the folder of a file."""
    kind: str
    """The kind of reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownUnknowns:
    """What the run before found, and the file that says so."""

    file: str
    """The file."""
    things: frozenset[Thing] = field(default=frozenset(), repr=False)
    """What it names."""

    @classmethod
    def read(cls, file: str) -> KnownUnknowns:
        """What the file names; nothing where there is none yet.

        Raises:
            ConfigurationError: it cannot be read, or holds something else.
        """
        try:
            text = Path(file).read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls(file=file)
        except (OSError, UnicodeDecodeError) as error:
            raise _broken(file, str(error)) from error
        try:
            found: Any = parsed_json(text)
            if found["format"] != _FORMAT:
                raise _broken(file, f"its format is {found['format']!r}")
            things = [Thing(*(each[name] for name in Thing._fields)) for each in found["known"]]
        except (ValueError, KeyError, TypeError) as error:
            raise _broken(file, "it is not one that a run wrote, or was changed") from error
        if not all(isinstance(value, str) for thing in things for value in thing):
            raise _broken(file, "it names something else than texts")
        return cls(file=file, things=frozenset(things))

    def write(self, things: Iterable[Thing], at: datetime) -> None:
        """Replaces the file, whole or not at all, by what this run found.

        Raises:
            OSError: it cannot be written, and is as it was.
        """
        known = [thing._asdict() for thing in sorted(set(things))]
        text = json.dumps({"format": _FORMAT, "written": json_time(at), "known": known}, indent=1)
        target = Path(self.file)
        part = target.with_name(f"{target.name}.unfinished")
        try:
            with part.open("w", encoding="utf-8") as opened:
                opened.write(text + "\n")
                opened.flush()
                os.fsync(opened.fileno())
            part.replace(target)
        except OSError:
            part.unlink(missing_ok=True)
            raise


def thing_of(list_: str, name: str, reason: str) -> Thing:
    """What a list of a report names.

    A location stands for itself; a file for its folder, because each commit brings new ones.
    """
    if name == reason:
        return Thing(list_, _kind(name), _kind(reason))
    place = f"{name.rpartition('/')[0]}/" if list_ == UNREADABLE and "/" in name else name
    return Thing(list_, place, _kind(reason))


def check_known_unknowns(file: str) -> None:
    """Refuses a file that cannot be used, before anything is read.

    Raises:
        ConfigurationError: the message says what is wrong with it.
    """
    check_output("known_unknowns", file, (".json",))
    KnownUnknowns.read(file)


def _kind(reason: str) -> str:
    return " ".join(_VARYING.sub("…", reason).split())


def _broken(file: str, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"`known_unknowns` {file!r} cannot be used: {why}; remove it, and the next run writes a new one"
    )
