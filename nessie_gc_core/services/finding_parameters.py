"""The typed parameters of whatever looks for garbage: where, how it is compared, and how old it must be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from nessie_gc_core.algorithms.units import allowed_locations
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError, UnknownLocationError
from nessie_gc_core.model.limits import DEFAULT_MIN_AGE, AgeLimit, AllowedLocations
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.options import option, options
from nessie_gc_core.model.table_patterns import compiled
from nessie_gc_core.services.mark_parameters import WalkParameters

SWEEP = "Sweep"
GUARD = "Safety limits"
TABLES = "Tables"
COMMITS = "Commits"
DUE = "Thresholds"


class Membership(StrEnum):
    """How stored files are compared with reachable ones."""

    EXACT = "exact"
    BLOOM = "bloom"


class NoncurrentVersions(StrEnum):
    """What happens to the older versions of a file that is deleted, in a bucket that keeps versions."""

    KEEP = "keep"
    DELETE = "delete"


def outcomes_option() -> str | None:
    """Declares the outcome file."""
    return option(
        None,
        section=SWEEP,
        metavar="FILE",
        help="Write every file with its outcome and reason to this file (.jsonl or .parquet).",
        per_machine=True,
    )


def known_unknowns_option() -> str | None:
    """Declares the file of what was unknown before."""
    return option(
        None,
        section=SWEEP,
        metavar="FILE",
        help="Exit with 0 if everything unknown or unreadable in this run was known in the last one; each run replaces "
        "this file (.json).",
        per_machine=True,
    )


def lease_option() -> timedelta:
    """Declares how long the lease of a repository lasts."""
    return option(
        timedelta(minutes=2),
        section=SWEEP,
        minimum=1,
        maximum=3600,
        help="How long the lease on the repository lasts without being renewed.",
    )


def allow_option() -> Sequence[str]:
    """Declares the warehouses."""
    return option(
        (),
        section=GUARD,
        metavar="PREFIX",
        help="Sweep only below this location, such as a warehouse; may be repeated (default: everywhere).",
    )


def min_depth_option() -> int | None:
    """Declares how deep a location must be."""
    return option(
        None,
        section=GUARD,
        metavar="N",
        minimum=0,
        help="Minimum path depth below the bucket (default: 2, or 3 for local files; with --allow, no minimum).",
    )


def strict_unknown_option() -> bool:
    """Declares what the unknown does to all the rest."""
    return option(False, section=GUARD, help="Delete nothing at all if anything could not be read.")


def set_aside_option() -> Sequence[str]:
    """Declares which contents are gone."""
    return option(
        (),
        section=TABLES,
        metavar="PATTERN",
        whole=True,
        help="Tables and views that are gone, by a regular expression of their whole name NAMESPACE.TABLE: that they "
        "cannot be read freezes only their own locations; may be repeated.",
    )


def strict_option() -> bool:
    """Declares what locations that are shared with unknown repositories do."""
    return option(
        False,
        section=GUARD,
        help="Fail before anything is deleted if another repository of the live-set store has tables at the locations "
        "to sweep (default: warn).",
    )


def max_live_set_age_option() -> timedelta:
    """Declares how old a live set may be."""
    return option(timedelta(days=7), section=GUARD, help="Refuse a live set that is older than this.")


@options
class PlaceParameters(WalkParameters):
    """Where garbage is looked for."""

    allow: Sequence[str] = allow_option()
    min_depth: int | None = min_depth_option()
    strict_unknown: bool = strict_unknown_option()
    set_aside: Sequence[str] = set_aside_option()
    strict: bool = strict_option()
    lease: timedelta = lease_option()

    def allowed(self, rules: LocationRules) -> AllowedLocations:
        """The allow-list, in canonical form.

        Raises:
            ConfigurationError: a prefix is relative, or its scheme is not known.
        """
        try:
            return allowed_locations(self.allow, rules, min_depth=self.min_depth)
        except UnknownLocationError as error:
            raise ConfigurationError(f"`allow`: {error}") from error

    @property
    def contents_set_aside(self) -> tuple[re.Pattern[str], ...]:
        """Patterns of the whole names of contents that are gone, as a person says (S12).

        Raises:
            ConfigurationError: one of them is not a regular expression.
        """
        return compiled("set_aside", self.set_aside)

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        WalkParameters.check(self, choice)
        _ = self.contents_set_aside
        self.allowed(choice.rules())


# ---- what a collection and an identification both take ------------------------------------------------
def membership_option() -> Membership:
    """Declares how stored files are compared with reachable ones."""
    return option(
        Membership.EXACT,
        section=SWEEP,
        help="How stored files are compared with reachable files; a Bloom filter leaves a little garbage behind.",
    )


def expected_file_count_option(default: int = 1_000_000) -> int:
    """Declares the capacity of the Bloom filter."""
    return option(
        default,
        section=SWEEP,
        minimum=1,
        help="Capacity of the Bloom filter; grows if more files are reachable.",
    )


def fpp_option() -> float:
    """Declares the false-positive rate of the Bloom filter."""
    return option(
        1e-5,
        section=SWEEP,
        help="The Bloom filter's false-positive rate: the chance that an unreferenced file is kept.",
    )


def min_age_option() -> timedelta:
    """Declares how old a file must be."""
    return option(
        DEFAULT_MIN_AGE,
        section=GUARD,
        help="Keep files that were younger than this when the references were listed.",
    )


def no_age_floor_option() -> bool:
    """Declares that the least age may be below its floor."""
    return option(
        False, section=GUARD, help="Allow a --min-age below one hour; use it only if nobody writes to the lake."
    )


def max_file_modification_option() -> datetime | None:
    """Declares the time after which a file must not have been modified."""
    return option(None, section=GUARD, metavar="INSTANT", help="Keep files that were modified later than this.")


def include_option() -> Sequence[str]:
    """Declares patterns of the selected tables."""
    return option(
        (),
        section=TABLES,
        metavar="PATTERN",
        whole=True,
        help="Only tables whose whole name NAMESPACE.TABLE matches this regular expression; may be repeated.",
    )


def exclude_option() -> Sequence[str]:
    """Declares patterns of the tables that are not meant."""
    return option(
        (),
        section=TABLES,
        metavar="PATTERN",
        whole=True,
        help="Skip tables whose whole name NAMESPACE.TABLE matches this regular expression, even if included; may be "
        "repeated.",
    )


def session_catalog_option() -> str | None:
    """Declares the catalog of a Spark session."""
    return option(
        None, section=TABLES, metavar="NAME", help="The catalog in the Spark session that has the tables (required)."
    )


def session_branch_option() -> str | None:
    """Declares the branch of such a catalog."""
    return option(
        None,
        section=TABLES,
        flag="--branch",
        metavar="NAME",
        help="In Nessie, the branch to commit to (default: the branch that the catalog is configured for).",
    )


def by_table_option() -> bool:
    """Declares that the report has a row for each table."""
    return option(False, section=SWEEP, help="Report the files of each table as well.")


def max_deletes_option() -> int | None:
    """Declares the limit on the files that a run deletes."""
    return option(
        None,
        section=GUARD,
        metavar="FILES",
        minimum=0,
        help="Delete nothing if the run would delete more files than this (default: no limit).",
    )


def max_deletes_per_location_option() -> int | None:
    """Declares the limit on the files that are deleted in one location."""
    return option(
        None,
        section=GUARD,
        metavar="FILES",
        minimum=0,
        help="Delete nothing in a location if more files than this would be deleted there (default: no limit).",
    )


def max_delete_percent_option() -> float | None:
    """Declares which share of a location's files may be deleted."""
    return option(
        None,
        section=GUARD,
        metavar="PERCENT",
        minimum=0,
        maximum=100,
        help="Delete nothing in a location if more than this percentage of its files would be deleted.",
    )


def commit_retries_option() -> int:
    """Declares how often a commit is repeated."""
    return option(4, section=COMMITS, minimum=0, help="How often to repeat a commit after a conflict.")


def file_list_option() -> Sequence[str]:
    """Declares lists of files in place of listings."""
    return option(
        (),
        section=SWEEP,
        metavar="FILE",
        help="Read the stored files from this list (Parquet, ORC, CSV, JSON lines, the manifest of an inventory, or "
        "the metadata file of an Iceberg table) instead of listing them; may be repeated.",
    )


def file_list_time_option() -> datetime | None:
    """Declares when lists of files were made."""
    return option(
        None,
        section=SWEEP,
        metavar="TIME",
        help="When the file lists were made, if no manifest says so; the minimum age counts back from then.",
    )


def file_list_max_age_option() -> timedelta:
    """Declares how old lists of files may be."""
    return option(timedelta(days=14), section=GUARD, help="Refuse a file list that is known to be older than this.")


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedRule:
    """Which contents that are gone are swept."""

    after: timedelta
    """Those that have been gone for longer than this."""
    under: tuple[str, ...] = ()
    """Raw warehouses in which unknown tables are looked for."""
    age: AgeLimit
    """How old a file must be to be deleted."""


def dropped_under_option() -> Sequence[str]:
    """Declares in which warehouses unknown tables are looked for."""
    return option(
        (),
        section=SWEEP,
        metavar="PREFIX",
        help="Look in this warehouse for dropped tables that no commit mentions; only if no other catalog has tables "
        "there.",
    )


def dropped_after_option() -> timedelta | None:
    """Declares how long a content must be gone until its location is swept."""
    return option(
        None,
        section=SWEEP,
        help="Also sweep the locations of tables and views dropped longer ago than this; reads all commits.",
    )
