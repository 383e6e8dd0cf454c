"""Looks again at single files that a list says are stored and nothing needs, before they are judged (S8, S22)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

from nessie_gc_core.algorithms.read_ahead import in_pieces, read_ahead
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import SupportsLookUp
from nessie_gc_core.errors import ListingError
from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.text import one_line

_AT_ONCE = 200
"""How many files of one folder are asked about in one go."""
FileName = tuple[str, str]
"""Raw location of a file, and raw path below it."""
_NAMES = (("path", "size"), ("sidecar_path", "sidecar_size"))


class _Asked(NamedTuple):
    location: str
    paths: Sequence[str]


class _Answer(NamedTuple):
    asked: _Asked
    found: Mapping[str, FileReference]
    problem: str | None


class Seen(NamedTuple):
    """The current state of a candidate."""

    row: dict[str, Any] | None
    """Its row (:data:`CANDIDATES`) with the size and time of now; ``None``: it is gone."""
    problem: str | None = None
    """Why it could not be checked."""


def looked_at(
    rows: Sequence[dict[str, Any]], choice: ConnectorChoice, connectors: OpenConnectors
) -> Iterator[tuple[int, Seen]]:
    """What some candidates (rows of :data:`CANDIDATES`) are now, by their number; in any order."""
    by_row = [[(row["location"], row[name]) for name, _ in _NAMES if row[name] is not None] for row in rows]
    found, problems = looked_up(itertools.chain.from_iterable(by_row), choice, connectors)
    for number, (row, names) in enumerate(zip(rows, by_row, strict=True)):
        problem = next((problems[name] for name in names if name in problems), None)
        yield number, Seen(row, problem) if problem is not None else Seen(_as_found(row, found))


def looked_up(
    names: Iterable[FileName], choice: ConnectorChoice, connectors: OpenConnectors
) -> tuple[dict[FileName, FileReference], dict[FileName, str]]:
    """Those of some files that are stored now, and those of which that cannot be told, with the reason."""
    found: dict[FileName, FileReference] = {}
    problems: dict[FileName, str] = {}

    def ask(asked: _Asked) -> Iterator[_Answer]:
        try:
            with connectors.lister_alone(asked.location) as lister:
                if not isinstance(lister, SupportsLookUp):
                    raise ListingError(f"{lister.name} cannot look at single files")
                yield _Answer(asked, {file.path: file for file in lister.look_up(asked.location, asked.paths)}, None)
        except Exception as error:  # noqa: BLE001 - whatever a lister raises, nothing is known of these files
            yield _Answer(asked, {}, f"it could not be checked again: {one_line(error)}")

    answers = read_ahead(_asked(names), ask, at_once=lambda asked: choice.reads_at_once(asked.location), kind="list")
    with closing(answers):
        for asked, files, problem in answers:
            for path in asked.paths:
                if problem is not None:
                    problems[asked.location, path] = problem
                elif path in files:
                    found[asked.location, path] = files[path]
    return found, problems


def _asked(names: Iterable[FileName]) -> Iterator[_Asked]:
    """The files of one folder together, and not too many of them."""
    by_folder: dict[FileName, list[str]] = {}
    for location, path in names:
        by_folder.setdefault((location, path.rpartition("/")[0]), []).append(path)
    for (location, _), paths in by_folder.items():
        yield from (_Asked(location, some) for some in in_pieces(paths, _AT_ONCE))


def _as_found(row: dict[str, Any], found: Mapping[tuple[str, str], FileReference]) -> dict[str, Any] | None:
    """The row as it is now: as young as the younger of the file and its sidecar."""
    now, times = dict(row), list[int]()
    for name, size in _NAMES:
        file = found.get((row["location"], row[name]))
        now[name], now[size] = (None, 0) if file is None else (file.path, file.size or 0)
        times.extend(() if file is None else (to_micros(file.modified),))
    now["modified"] = max(times, default=0)
    return now if times else None
