"""Limits of deletions: allowed locations, the age of files, and caps (S8, S13)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.locations import depth
from nessie_gc_core.model.text import duration_text

MIN_AGE_FLOOR = timedelta(hours=1)
"""A shorter minimum age must be requested explicitly (S8)."""
DEFAULT_MIN_AGE = timedelta(days=1)
"""Least age by default (S8)."""
DEFAULT_DEPTH = 2
"""Minimum number of path elements below a bucket, if no allow-list is configured."""
DEFAULT_FILE_DEPTH = 3
"""The same below the root of a local file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedLocations:
    """The locations that the configuration allows to be swept (S13)."""

    prefixes: tuple[str, ...] = ()
    """Warehouses by their exact form (``LocationRules.exact``), local ones without links; empty: any location that is
    deep enough."""
    min_depth: int | None = None
    """Minimum number of path elements below the bucket.

    ``None``: any number if prefixes are allowed, else :data:`DEFAULT_DEPTH` (on a local disk
    :data:`DEFAULT_FILE_DEPTH`).
    """
    stores: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What the warehouses named that their canonical form leaves out (an Azure account); not there: any."""

    def refusal(self, exact: str, store: str = "") -> str | None:
        """Why a location, by its exact form, may not be swept; ``None``: it may.

        ``store`` is what the canonical form leaves out.
        """
        around = [prefix for prefix in self.prefixes if exact.startswith(prefix)]
        if self.prefixes and not any(not store or store in self.stores.get(prefix, {store}) for prefix in around):
            return "is outside the allowed locations"
        least = self.min_depth
        if least is None:
            least = 0 if self.prefixes else DEFAULT_FILE_DEPTH if exact.startswith("file:") else DEFAULT_DEPTH
        if depth(exact) < least:
            return f"is less than {least} levels deep; name it in `allow` to sweep it"
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgeLimit:
    """A file that was modified after the limit is kept."""

    min_age: timedelta = DEFAULT_MIN_AGE
    """Files younger than this, when the references were listed, are kept."""
    max_file_modification: datetime | None = None
    """Files modified later than this (UTC) are kept; ``None``: only the age counts."""

    def check(self, *, floor: bool) -> None:
        """Refuses a least age below the floor.

        Raises:
            ConfigurationError: it is too short, and this was not requested explicitly.
        """
        if self.min_age < timedelta(0):
            raise ConfigurationError(f"`min_age` must not be negative, not {duration_text(self.min_age)}")
        if floor and self.min_age < MIN_AGE_FLOOR:
            raise ConfigurationError(
                f"`min_age` {duration_text(self.min_age)} is below one hour: files of running commits could be "
                "deleted; use `no_age_floor` if nobody writes to this lake"
            )

    def newest_deletable(self, references_listed: datetime, store_now: datetime, *others_now: datetime) -> datetime:
        """The latest modification time, by a store's clock, of files that may be deleted.

        Args:
            references_listed: when the mark listed the references, by its clock or an earlier one.
            store_now: the store's time now.
            others_now: the time now by the clocks of which one may be that of the mark.

        The age counts back from the earliest instant that may be right, so that no wrong clock makes a file older:
        ``references_listed`` itself, what the store's clock showed then if it is as far from one of the other clocks
        as now, and the store's time now.
        """
        try:
            listed = [references_listed, *(references_listed + (store_now - now) for now in others_now), store_now]
            limit = min(listed) - self.min_age
        except OverflowError:  # an age from before the calendar: nothing is that old
            limit = datetime.min.replace(tzinfo=UTC)
        return limit if self.max_file_modification is None else min(limit, self.max_file_modification)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionCaps:
    """Limits on how much one run may delete; ``None``: no limit (S13)."""

    max_files: int | None = None
    """Files of a run."""
    max_files_per_unit: int | None = None
    """Files of a sweep unit."""
    max_percent_per_unit: float | None = None
    """Percentage of the stored files of a unit."""

    def exceeded(self, doomed: Mapping[str, int], stored: Mapping[str, int]) -> dict[str, str]:
        """Units whose files must all stay, with the reason; every unit if the whole run exceeds its cap."""
        total = sum(doomed.values())
        if self.max_files is not None and total > self.max_files:
            said = f"the run would delete {total} files, more than `max_deletes` {self.max_files}"
            return dict.fromkeys((unit for unit, files in doomed.items() if files), said)
        return {unit: reason for unit, files in doomed.items() if (reason := self._over(files, stored.get(unit, 0)))}

    def _over(self, files: int, stored: int) -> str | None:
        if self.max_files_per_unit is not None and files > self.max_files_per_unit:
            return f"{files} files of this location would be deleted, more than `max_deletes_per_location` allows"
        percent = 100.0 * files / stored if stored else 0.0
        if self.max_percent_per_unit is not None and percent > self.max_percent_per_unit:
            return f"{percent:.1f} percent of this location would be deleted, more than `max_delete_percent` allows"
        return None
