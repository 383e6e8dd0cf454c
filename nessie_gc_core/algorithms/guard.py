"""Guard: what keeps an unreferenced file from being deleted: its age, a veto, a cap (S8, S13)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import pyarrow as pa
import xxhash

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import file_reference, to_batches, to_micros
from nessie_gc_core.model.relations import CANDIDATES, UNKNOWN_TIME, VERDICTS
from nessie_gc_core.plugins import installed

BUCKETS = 1024
"""Files are dealt into this many buckets by a stable hash of their key; a sweep step takes some of them."""
MIN_AGE_FLOOR = timedelta(hours=1)
"""A shorter least age needs an explicit word (S8)."""
DEFAULT_MIN_AGE = timedelta(days=1)
"""Least age where nothing is said (S8)."""


class Verdict(StrEnum):
    """What the guard says about a candidate."""

    UNREFERENCED = "UNREFERENCED"
    TOO_YOUNG = "TOO_YOUNG"
    SPARED = "SPARED"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeLimit:
    """A file is kept when it was modified after the limit."""

    min_age: timedelta = DEFAULT_MIN_AGE
    max_file_modification: datetime | None = None

    def check(self, *, floor: bool) -> None:
        """Refuses a least age below the floor.

        Raises:
            ConfigurationError: it is too short, and nobody said that this is meant.
        """
        if self.min_age < timedelta(0):
            raise ConfigurationError(f"--min-age must not be negative, not {self.min_age}")
        if floor and self.min_age < MIN_AGE_FLOOR:
            raise ConfigurationError(
                f"--min-age {self.min_age} is below one hour: files of commits under way could be deleted; "
                "add --no-age-floor if nobody writes to this lake"
            )

    def newest_deletable(self, references_listed: datetime, clock_offset: timedelta) -> datetime:
        """The latest modification time, by the store's clock, at which a file may go."""
        try:
            limit = references_listed + clock_offset - self.min_age
        except OverflowError:  # an age from before the calendar: nothing is that old
            limit = datetime.min.replace(tzinfo=UTC)
        return limit if self.max_file_modification is None else min(limit, self.max_file_modification)


class JudgeFiles:
    """Candidates to verdicts (:data:`VERDICTS`)."""

    schema = VERDICTS

    def __init__(self, limits: Mapping[str, datetime], now: Mapping[str, datetime]) -> None:
        """Takes, for every unit, the newest deletable time and the store's time now."""
        self._limits = {unit: to_micros(limit) for unit, limit in limits.items()}
        self._now = {unit: to_micros(time) for unit, time in now.items()}

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Judges by age first, then asks the vetoes about what is left."""
        registry = installed()
        for batch in batches:
            rows = batch.to_pylist()
            verdicts = [self._by_age(row["unit"], row["modified"]) for row in rows]
            if registry.has_vetoes:
                _ask_vetoes(rows, verdicts)
            values = (
                (*row.values(), verdict, reason, bucket_of(row["key"]), row["path"] is None)
                for row, (verdict, reason) in zip(rows, verdicts, strict=True)
            )
            yield from to_batches(values, self.schema)

    def _by_age(self, unit: str, modified: int) -> tuple[Verdict, str | None]:
        if modified == UNKNOWN_TIME:
            return Verdict.TOO_YOUNG, "its modification time is unknown"
        if modified > self._now[unit]:
            return Verdict.TOO_YOUNG, "its modification time lies in the future"
        if modified > self._limits[unit]:
            return Verdict.TOO_YOUNG, None
        return Verdict.UNREFERENCED, None


def _ask_vetoes(rows: Sequence[dict[str, object]], verdicts: list[tuple[Verdict, str | None]]) -> None:
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
        vetoed = installed().veto(location, files)
        for number in numbers:
            if (reason := vetoed.get(paths[number])) is not None:
                verdicts[number] = (Verdict.SPARED, reason)


def bucket_of(key: str) -> int:
    """The bucket of a key; the same in every run and process."""
    return xxhash.xxh3_64_intdigest(key.encode()) % BUCKETS


def judge(candidates: Dataset, limits: Mapping[str, datetime], now: Mapping[str, datetime]) -> Dataset:
    """Judges all candidates, once."""
    return candidates.select(CANDIDATES).flat_map(JudgeFiles(limits, now)).checkpoint()


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionCaps:
    """Limits on how much one run may delete; ``None``: no limit (S13)."""

    max_files: int | None = None
    """Files of a run."""
    max_files_per_unit: int | None = None
    max_percent_per_unit: float | None = None
    """Per cent of the files that are stored in a unit."""

    def exceeded(self, doomed: Mapping[str, int], stored: Mapping[str, int]) -> dict[str, str]:
        """Units whose files must all stay, with the reason; every unit where the run as a whole is over its cap."""
        total = sum(doomed.values())
        if self.max_files is not None and total > self.max_files:
            said = f"the run would delete {total} files, more than --max-deletes {self.max_files}"
            return dict.fromkeys((unit for unit, files in doomed.items() if files), said)
        return {unit: reason for unit, files in doomed.items() if (reason := self._over(files, stored.get(unit, 0)))}

    def _over(self, files: int, stored: int) -> str | None:
        if self.max_files_per_unit is not None and files > self.max_files_per_unit:
            return f"{files} files of this location would go, more than --max-deletes-per-location allows"
        percent = 100.0 * files / stored if stored else 0.0
        if self.max_percent_per_unit is not None and percent > self.max_percent_per_unit:
            return f"{percent:.1f} per cent of this location would go, more than --max-delete-percent allows"
        return None
