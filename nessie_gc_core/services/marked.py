"""Places that something else uses too: other formats and tools leave marks, which a listing shows (S32)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import NamedTuple

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.algorithms.units import SweepPlan, SweepUnit
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.files import TRANSLATED
from nessie_gc_core.model.marks import LOOKED_FOR, is_foreign, mark_of
from nessie_gc_core.model.relations import VERSION_FILES
from nessie_gc_core.model.text import one_line

_TRANSLATED = (
    "is also the place of a table of another format, from which a tool such as Apache XTable writes this table's "
    "metadata; if that has ended, remove the tool's property from the table"
)
_PLACES = pa.schema([VERSION_FILES.field("location")])
_MOST = 100
"""So many files of a folder are looked at: which one is listed first, is up to the store."""


def freeze_marked(plan: SweepPlan, marks: Mapping[str, Mapping[str, str]]) -> None:
    """Removes the units that something other than Iceberg uses, whose files no Iceberg metadata names.

    Args:
        plan: the units.
        marks: by unit, what uses it (:func:`mark_of`), each with the key of a file that shows it.
    """
    for unit, found in marks.items():
        others = {mark: key for mark, key in sorted(found.items()) if is_foreign(mark)}
        if others:
            shown = next(iter(others.values()))
            plan.freeze(
                [unit],
                f"is also the place of {' and '.join(others)}, as {unit}{shown} shows; no Iceberg metadata names its "
                "files: if nothing uses it any more, remove what shows it",
                unread=True,
            )


def freeze_marked_by_now(plan: SweepPlan, choice: ConnectorChoice) -> None:
    """The same where nothing is listed: looks for marks directly below each location; what cannot be seen is unknown.

    For what an earlier run found: someone may have made a table of another format there since.
    """
    marks: dict[str, dict[str, str]] = {}
    for seen in _looked_for(plan.units, choice):
        if seen.problem is not None:
            plan.freeze([seen.unit], f"cannot tell whether something else uses it: {seen.problem}")
        elif seen.mark is not None:
            marks.setdefault(seen.unit, {})[seen.mark] = seen.key
    freeze_marked(plan, marks)


def freeze_translated(plan: SweepPlan, version_files: Dataset) -> None:
    """Removes the units with a content whose metadata a tool writes from a table of another format.

    Args:
        plan: the units.
        version_files: what content versions name (:data:`VERSION_FILES`).
    """
    rows = version_files.where("kind", [TRANSLATED]).present("location").distinct(["location"]).select(_PLACES)
    for raw in rows.summary().column("location").to_pylist():
        place = plan.rules.place_prefix_or_none(raw)
        if place is not None:
            plan.freeze([place], _TRANSLATED, unread=True)


class _Look(NamedTuple):
    """A folder to look into."""

    unit: str
    location: str
    folder: str


class _Seen(NamedTuple):
    """What there is in such a folder."""

    unit: str
    key: str
    mark: str | None
    problem: str | None = None


def _looked_for(units: Iterable[SweepUnit], choice: ConnectorChoice) -> Iterator[_Seen]:
    """Some files of the folders that show another format, and what could not be listed."""
    looks = [_Look(unit.root, at, folder) for unit in units for at in unit.locations for folder in LOOKED_FOR]
    with OpenConnectors(choice) as connectors:

        def look(asked: _Look) -> Iterator[_Seen]:
            try:
                with connectors.lister_alone(asked.location) as lister:
                    for file in itertools.islice(lister.list_files(asked.location + asked.folder), _MOST):
                        key = asked.folder + file.path
                        yield _Seen(asked.unit, key, mark_of(key))
            except Exception as error:  # noqa: BLE001 - whatever a lister raises, nothing is known of this place
                yield _Seen(asked.unit, asked.folder, None, one_line(error))

        found = read_ahead(looks, look, at_once=lambda asked: choice.reads_at_once(asked.location), kind="list")
        with closing(found):
            yield from found
