"""Namesakes: stored files that bear the name of a reachable file that was found nowhere, and may be that file (S30).

Some writer spells places in a way that nobody knows yet. What it means by a path is then stored under another one, but
hardly ever under another name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.batches import in_schema, to_batches, to_rows
from nessie_gc_core.model.relations import FILE_KEYS, PROBLEM, REACHABLE_FILES, VERDICTS
from nessie_gc_core.model.verdicts import Verdict

NOWHERE = ""
"""Unit of reachable files that are in no known place as they are spelled; their path is their key."""
MAY_BE = "it may be the lost file "
"""How the reason of a namesake begins; the path of the lost file follows."""
LOST_NAMES = pa.schema([pa.field("name", pa.string()), pa.field("lost", pa.string())])
"""Names of files that were found nowhere (:func:`folded_names`), each with the raw path of one of them."""
NAMESAKES = pa.schema([*FILE_KEYS, LOST_NAMES.field("lost")])
"""Stored files that may be a lost one, each with its raw path."""
_KEYS = list(FILE_KEYS.names)
_DEAD = Verdict.UNREFERENCED.value
_NOT_PLAIN = r"[%+\\]|[^\x00-\x7f]|/$"
"""What makes a name one of those that are folded one by one."""
_MOST_DECODED = 8
"""Nobody encodes a name more often than this."""


class OutsideFiles:
    """Reachable files outside all units to those that nobody looked for (:data:`REACHABLE_FILES`).

    Takes :data:`EXPANDED_FILES`. A file in a known place that is not swept is where it should be.
    """

    schema = REACHABLE_FILES

    def __init__(self, known: UnitIndex) -> None:
        """Takes the known places that are not swept."""
        self._known = known

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Looks each path up; an unreadable file is in its place, if it has one."""
        for batch in batches:
            rows = ((str(path), kind == PROBLEM) for path, kind in to_rows(batch, "path", "kind"))
            yield from to_batches(
                ((NOWHERE, path, path) for path, bad in rows if self._is_nowhere(path, is_problem=bad)), self.schema
            )

    def _is_nowhere(self, path: str, *, is_problem: bool) -> bool:
        try:
            return not self._known.places(path).all and not is_problem
        except UnknownLocationError:
            return True


def lost_names(lost: Dataset) -> Dataset:
    """The names of files that were found nowhere (:data:`REACHABLE_FILES` to :data:`LOST_NAMES`), each once."""
    return lost.flat_map(_LostNames()).aggregate(["name"], {"lost": ("min", "lost")}, LOST_NAMES)


def namesakes(files: Dataset, names: Dataset, keys: pa.Schema = FILE_KEYS) -> Dataset:
    """Which of some stored files may be a lost one (:data:`NAMESAKES`, if the keys are units and keys), each once.

    Args:
        files: the files.
        names: :data:`LOST_NAMES`.
        keys: the columns whose texts, one after the other, are the path.
    """
    named = files.select(keys).flat_map(_Named(keys))
    found = named.left_join(names, [LOST_NAMES.names[0]]).present("lost")
    return found.select(pa.schema([*keys, LOST_NAMES.field("lost")])).distinct(keys.names)


def dead_namesakes(verdicts: Dataset, names: Dataset) -> Dataset:
    """Those of the files that some verdicts (:data:`VERDICTS`) let go."""
    return namesakes(verdicts.where("verdict", [_DEAD]), names)


def spare_namesakes(verdicts: Dataset, found: Dataset) -> Dataset:
    """The same rows (:data:`VERDICTS`), but namesakes (:data:`NAMESAKES`) stay, each for the file that it may be."""
    dead, rest = (verdicts.where("verdict", [_DEAD], negate=negate) for negate in (False, True))
    return dead.left_join(found, _KEYS).flat_map(_Spare()).union(rest)


def folded_names(paths: pa.Array) -> pa.Array:
    """The last element of each path, alike for all spellings of a name: encoded or not, in upper or lower case."""
    names = pc.utf8_lower(pc.replace_substring_regex(paths, pattern=r"(?s)^.*/", replacement=""))
    odd = pc.match_substring_regex(paths, _NOT_PLAIN)
    if not pc.any(odd).as_py():
        return names
    found = zip(paths.to_pylist(), names.to_pylist(), odd.to_pylist(), strict=True)
    return pa.array([_folded(path) if is_odd else name for path, name, is_odd in found], pa.string())


def _folded(path: str) -> str:
    for _ in range(_MOST_DECODED):
        decoded = unquote(path)
        if decoded == path:
            break
        path = decoded
    name = re.split(r"[/\\]", path.rstrip("/\\"))[-1].replace("+", " ")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class _LostNames:
    """Reachable files to their names."""

    schema = LOST_NAMES

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = folded_names(batch.column("path"))
            found = pa.RecordBatch.from_arrays([names, batch.column("path")], schema=self.schema)
            yield found.filter(pc.not_equal(names, ""))


class _Named:
    """Stored files to their names."""

    def __init__(self, keys: pa.Schema) -> None:
        self.schema = pa.schema([*keys, LOST_NAMES.field("name")])
        self._keys = keys.names

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            paths = pc.binary_join_element_wise(*(batch.column(name) for name in self._keys), "")
            yield in_schema(batch, self.schema, {"name": folded_names(paths)})


class _Spare:
    """Verdicts, each with the lost file that it may be (:data:`VERDICTS`)."""

    schema = VERDICTS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            lost = batch.column("lost")
            why = pc.binary_join_element_wise(pa.scalar(MAY_BE), lost, "")
            verdict = pc.if_else(lost.is_valid(), Verdict.SPARED.value, batch.column("verdict"))
            yield in_schema(
                batch, self.schema, {"verdict": verdict, "reason": pc.coalesce(why, batch.column("reason"))}
            )
