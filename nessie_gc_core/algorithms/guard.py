"""Guard: what keeps an unreferenced file from being deleted: its age, a veto, a cap (S8, S13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from nessie_gc_core.algorithms.look_again import looked_at
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.batches import file_reference, in_schema, to_micros
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.relations import CANDIDATES, FILE_KEYS, UNKNOWN_TIME, VERDICTS
from nessie_gc_core.model.verdicts import Verdict
from nessie_gc_core.plugins import PluginRegistry

_TIME_UNKNOWN = "its modification time is unknown"
_IN_THE_FUTURE = "its modification time is in the future"
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
            ages: of every store (:func:`store_of`); empty if the ages were judged before.
            choice: the plugins.
            look_again: whether to look at deletable files once more, because no lister has shown them.
        """
        self._choice = choice
        self._look_again = look_again
        self._ages: dict[str, tuple[int, int]] | None = None
        if ages is not None:
            self._ages = {s: (to_micros(found.newest_deletable), to_micros(found.now)) for s, found in ages.items()}

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Judges by age first, then asks the vetoes about the rest; unless all can answer, nothing is deleted (S26)."""
        registry, lacking = self._choice.registry(), self._choice.lacking_plugin()
        with OpenConnectors(self._choice) as connectors:
            for batch in batches:
                found = in_schema(batch, CANDIDATES)
                found, said = self._seen_again(found, connectors) if self._look_again else (found, self._by_age(found))
                if lacking is not None:
                    said = said.sparing(dict.fromkeys(said.deletable(), lacking))
                elif registry.has_vetoes:
                    said = said.sparing(_vetoed(registry, found, said.deletable()))
                buckets = pa.array([bucket_of(key) for key in found.column("key").to_pylist()], pa.int32())
                columns = {"verdict": said.verdict, "reason": said.reason, "bucket": buckets}
                yield in_schema(found, self.schema, {**columns, "sidecar_only": found.column("path").is_null()})

    def _seen_again(self, found: pa.RecordBatch, connectors: OpenConnectors) -> tuple[pa.RecordBatch, _Said]:
        """Candidates as they are now: what is gone is left out, and what was written meanwhile is younger."""
        rows, problems = found.to_pylist(), dict[int, str]()
        old, gone = self._by_age(found).deletable(), set[int]()
        for place, seen in looked_at([rows[number] for number in old], self._choice, connectors):
            number = old[place]
            if seen.row is None:
                gone.add(number)
            elif seen.problem is not None:
                problems[number] = seen.problem
            else:
                rows[number] = seen.row
        left = [number for number in range(len(rows)) if number not in gone]
        now = pa.RecordBatch.from_pylist([rows[number] for number in left], schema=CANDIDATES)
        reasons = {place: problems[number] for place, number in enumerate(left) if number in problems}
        return now, self._by_age(now).sparing(reasons)

    def _by_age(self, found: pa.RecordBatch) -> _Said:
        modified, rows = found.column("modified"), found.num_rows
        unknown = pc.equal(modified, UNKNOWN_TIME)
        reason = pc.if_else(unknown, _TIME_UNKNOWN, pa.nulls(rows, pa.string()))
        if self._ages is None:
            return _Said(pc.if_else(unknown, Verdict.TOO_YOUNG.value, Verdict.UNREFERENCED.value), reason)
        locations = found.column("location").dictionary_encode()
        ages = [self._ages[store_of(location)] for location in locations.dictionary.to_pylist()]
        newest = pa.array([newest for newest, _ in ages], pa.int64()).take(locations.indices)
        now = pa.array([now for _, now in ages], pa.int64()).take(locations.indices)
        future = pc.and_not(pc.greater(modified, now), unknown)
        young = pc.or_(pc.or_(unknown, future), pc.greater(modified, newest))
        verdict = pc.if_else(young, Verdict.TOO_YOUNG.value, Verdict.UNREFERENCED.value)
        return _Said(verdict, pc.if_else(future, _IN_THE_FUTURE, reason))


@dataclass(frozen=True, slots=True)
class _Said:
    """The verdicts on the rows of a batch, column by column."""

    verdict: pa.Array
    reason: pa.Array

    def deletable(self) -> list[int]:
        """The numbers of the rows that may be deleted."""
        numbers: list[int] = pc.indices_nonzero(pc.equal(self.verdict, Verdict.UNREFERENCED.value)).to_pylist()
        return numbers

    def sparing(self, reasons: Mapping[int, str]) -> _Said:
        """The same, but some rows stay."""
        if not reasons:
            return self
        verdict, reason = self.verdict.to_pylist(), self.reason.to_pylist()
        for number, why in reasons.items():
            verdict[number], reason[number] = Verdict.SPARED.value, why
        return _Said(pa.array(verdict, pa.string()), pa.array(reason, pa.string()))


def _vetoed(registry: PluginRegistry, found: pa.RecordBatch, deletable: Sequence[int]) -> dict[int, str]:
    """Of the deletable rows, the numbers of those that a veto keeps, with the reasons."""
    columns = ("location", "path", "sidecar_path", "size", "modified")
    rows = found.select(columns).take(pa.array(deletable, pa.int64())).to_pylist()
    files = [
        file_reference(row["location"], row["path"] or row["sidecar_path"], row["size"], row["modified"])
        for row in rows
    ]
    return {deletable[number]: reason for number, reason in vetoed(registry, files).items()}


def vetoed(registry: PluginRegistry, files: Sequence[FileReference]) -> dict[int, str]:
    """By their numbers the files that a veto keeps, with the reasons; asks once for each location."""
    by_location: dict[str, list[int]] = {}
    for number, file in enumerate(files if registry.has_vetoes else ()):
        by_location.setdefault(file.location, []).append(number)
    reasons: dict[int, str] = {}
    for location, numbers in by_location.items():
        kept = registry.veto(location, [files[number] for number in numbers])
        reasons.update((number, kept[files[number].path]) for number in numbers if files[number].path in kept)
    return reasons


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
        """Takes raw locations with the reasons why nothing in them may be deleted."""
        self._reasons = dict(reasons)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decides by the location of the row itself: another spelling of the same unit may well be allowed."""
        refused = pa.array(list(self._reasons), pa.string())
        reasons = pa.array([f"its location {reason}" for reason in self._reasons.values()], pa.string())
        for batch in batches:
            reason = reasons.take(pc.index_in(batch.column("location"), refused))
            verdict = pc.if_else(reason.is_valid(), Verdict.SPARED.value, batch.column("verdict"))
            said = {"verdict": verdict, "reason": pc.coalesce(reason, batch.column("reason"))}
            yield in_schema(batch, self.schema, said)


def spared_rows(verdicts: Dataset, reason: str) -> Dataset:
    """The same rows (:data:`VERDICTS`), but all of them stay, for one reason."""
    return verdicts.setting({"verdict": Verdict.SPARED.value, "reason": reason})


def spare(verdicts: Dataset, files: Dataset, reason: str) -> Dataset:
    """The same rows (:data:`VERDICTS`), but some files (:data:`FILE_KEYS`) stay, for one reason."""
    keys = list(FILE_KEYS.names)
    dead = verdicts.where("verdict", [Verdict.UNREFERENCED.value])
    spared = spared_rows(dead.semi_join(files, keys), reason)
    rest = verdicts.where("verdict", [Verdict.UNREFERENCED.value], negate=True)
    return dead.anti_join(files, keys).union(spared).union(rest)
