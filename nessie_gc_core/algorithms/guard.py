"""Guard: what keeps an unreferenced file from being deleted: its age, a veto, a cap (S8, S13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import xxhash

from nessie_gc_core.algorithms.look_again import looked_at
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import Row, file_reference, to_batches, to_micros
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.relations import CANDIDATES, FILE_KEYS, UNKNOWN_TIME, VERDICTS
from nessie_gc_core.model.verdicts import Verdict
from nessie_gc_core.plugins import PluginRegistry

_Said = tuple[Verdict, str | None]
BUCKETS = 1024
"""Files are dealt into this many buckets by a stable hash of their key; a sweep step takes some of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAges:
    """What a store's clock says about ages."""

    newest_deletable: datetime
    now: datetime


class JudgeFiles:
    """Candidates to verdicts (:data:`VERDICTS`)."""

    schema = VERDICTS

    def __init__(
        self, ages: Mapping[str, StoreAges] | None, choice: ConnectorChoice, *, look_again: bool = False
    ) -> None:
        """Takes what decides.

        Args:
            ages: of every store (:func:`store_of`); none where the age was judged before.
            choice: the plugins.
            look_again: whether files that may go are looked at once more, since not a lister has shown them.
        """
        self._choice = choice
        self._look_again = look_again
        self._ages: dict[str, tuple[int, int]] | None = None
        if ages is not None:
            self._ages = {s: (to_micros(found.newest_deletable), to_micros(found.now)) for s, found in ages.items()}

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Judges by age first, then asks the vetoes about what is left; all of them, or nothing may go (S26)."""
        registry, lacking = self._choice.registry(), self._choice.lacking_plugin()
        for rows, verdicts in self._judged(batches):
            if lacking is not None:
                verdicts = [(Verdict.SPARED, lacking) if said[0] is Verdict.UNREFERENCED else said for said in verdicts]
            elif registry.has_vetoes:
                _ask_vetoes(registry, rows, verdicts)
            values = (
                (*row.values(), verdict, reason, bucket_of(row["key"]), row["path"] is None)
                for row, (verdict, reason) in zip(rows, verdicts, strict=True)
            )
            yield from to_batches(values, self.schema)

    def _judged(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[list[dict[str, Any]], list[_Said]]]:
        """Rows with what their age says."""
        with OpenConnectors(self._choice) as connectors:
            for batch in batches:
                rows = batch.to_pylist()
                verdicts = [self._by_age(row["location"], row["modified"]) for row in rows]
                yield self._seen_again(rows, verdicts, connectors) if self._look_again else (rows, verdicts)

    def _seen_again(
        self, rows: list[dict[str, Any]], verdicts: list[_Said], connectors: OpenConnectors
    ) -> tuple[list[dict[str, Any]], list[_Said]]:
        """The same as it is now: what is gone is left out, and what was written meanwhile is younger."""
        old = [number for number, (verdict, _) in enumerate(verdicts) if verdict is Verdict.UNREFERENCED]
        gone = set()
        for place, seen in looked_at([rows[number] for number in old], self._choice, connectors):
            number = old[place]
            if seen.row is None:
                gone.add(number)
            elif seen.problem is not None:
                verdicts[number] = Verdict.SPARED, seen.problem
            else:
                rows[number] = seen.row
                verdicts[number] = self._by_age(seen.row["location"], seen.row["modified"])
        left = [number for number in range(len(rows)) if number not in gone]
        return [rows[number] for number in left], [verdicts[number] for number in left]

    def _by_age(self, location: str, modified: int) -> _Said:
        if modified == UNKNOWN_TIME:
            return Verdict.TOO_YOUNG, "its modification time is unknown"
        if self._ages is None:
            return Verdict.UNREFERENCED, None
        newest_deletable, now = self._ages[store_of(location)]
        if modified > now:
            return Verdict.TOO_YOUNG, "its modification time lies in the future"
        if modified > newest_deletable:
            return Verdict.TOO_YOUNG, None
        return Verdict.UNREFERENCED, None


def _ask_vetoes(registry: PluginRegistry, rows: Sequence[dict[str, object]], verdicts: list[_Said]) -> None:
    by_location: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        if verdicts[number][0] is Verdict.UNREFERENCED:
            by_location.setdefault(str(row["location"]), []).append(number)
    for location, numbers in by_location.items():
        paths = {number: str(rows[number]["path"] or rows[number]["sidecar_path"]) for number in numbers}
        files = [
            file_reference(location, paths[n], int(str(rows[n]["size"])), int(str(rows[n]["modified"])))
            for n in numbers
        ]
        vetoed = registry.veto(location, files)
        for number in numbers:
            if (reason := vetoed.get(paths[number])) is not None:
                verdicts[number] = (Verdict.SPARED, reason)


def bucket_of(key: str) -> int:
    """The bucket of a key; the same in every run and process."""
    return xxhash.xxh3_64_intdigest(key.encode()) % BUCKETS


def judge(
    candidates: Dataset,
    ages: Mapping[str, StoreAges] | None,
    choice: ConnectorChoice,
    *,
    look_again: bool = False,
) -> Dataset:
    """Judges all candidates, once; by their age only where ``ages`` has that of every store."""
    return candidates.select(CANDIDATES).flat_map(JudgeFiles(ages, choice, look_again=look_again)).checkpoint()


class SpareLocations:
    """Verdicts to verdicts: everything that was found in one of some raw locations is spared (S13)."""

    schema = VERDICTS

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """Takes raw locations with the reasons why nothing in them may go."""
        self._reasons = dict(reasons)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Goes by the location of the row itself: another spelling of the same unit may well be allowed."""
        rows = (row for batch in batches for row in batch.select(VERDICTS.names).to_pylist())
        yield from to_batches((self._judged(row) for row in rows), self.schema)

    def _judged(self, row: dict[str, Any]) -> Row:
        reason = self._reasons.get(row["location"])
        if reason is None:
            return tuple(row.values())
        return tuple({**row, "verdict": Verdict.SPARED.value, "reason": f"its location {reason}"}.values())


class SpareRows:
    """Verdicts to verdicts: every row is spared, for one reason."""

    schema = VERDICTS

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Turns every row."""
        rows = (row for batch in batches for row in batch.select(VERDICTS.names).to_pylist())
        spared = ({**row, "verdict": Verdict.SPARED.value, "reason": self._reason} for row in rows)
        yield from to_batches((tuple(row.values()) for row in spared), self.schema)


def spare(verdicts: Dataset, files: Dataset, reason: str) -> Dataset:
    """The same rows (:data:`VERDICTS`), but some files (:data:`FILE_KEYS`) do not go, for one reason."""
    keys = list(FILE_KEYS.names)
    dead = verdicts.where("verdict", [Verdict.UNREFERENCED.value])
    spared = dead.semi_join(files, keys).flat_map(SpareRows(reason))
    rest = verdicts.where("verdict", [Verdict.UNREFERENCED.value], negate=True)
    return dead.anti_join(files, keys).union(spared).union(rest)
