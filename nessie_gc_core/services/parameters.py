"""The typed parameters of the collecting services: the words of the command line, the configuration file and Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from nessie_gc_core.algorithms.units import allowed_locations
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError, UnknownLocationError
from nessie_gc_core.model.limits import DEFAULT_MIN_AGE, AgeLimit, AllowedLocations, DeletionCaps
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.mark_parameters import (
    MarkParameters,
    WalkParameters,
    cutoff_option,
    cutoff_ref_time_option,
    default_cutoff_option,
    write_live_set_id_to_option,
)

P = TypeVar("P", bound=ConnectorOptions)

_SWEEP = "Sweep"
_GUARD = "What keeps files"
_LIVE_SET = "Live set"


class Membership(StrEnum):
    """How stored files are compared with reachable ones."""

    EXACT = "exact"
    BLOOM = "bloom"


@options
class DeletionParameters(WalkParameters):
    """What every deletion observes, that of a sweep and that of what an earlier sweep recorded."""

    dry_run: bool = option(False, section=_SWEEP, help="Do everything but the last call: delete nothing.")
    outcomes_to: str | None = option(
        None,
        section=_SWEEP,
        metavar="FILE",
        help="Write every file with its outcome and reason (.jsonl or .parquet).",
    )
    max_live_set_age: timedelta = option(timedelta(days=7), section=_GUARD, help="Refuse a live set that is older.")
    allow: Sequence[str] = option(
        (),
        section=_GUARD,
        metavar="PREFIX",
        help="Sweep only below this location (a warehouse); may be given several times.",
    )
    min_depth: int | None = option(
        None,
        section=_GUARD,
        metavar="N",
        minimum=0,
        help="Least number of path elements below the bucket; without allowed locations 2 (3 for local files).",
    )
    max_deletes: int | None = option(
        None,
        section=_GUARD,
        metavar="FILES",
        minimum=0,
        help="Delete nothing where the run would delete more files than this.",
    )
    max_deletes_per_location: int | None = option(
        None,
        section=_GUARD,
        metavar="FILES",
        minimum=0,
        help="Delete nothing in a location where more files than this would go.",
    )
    strict_unknown: bool = option(False, section=_GUARD, help="Delete nothing at all where anything could not be read.")
    recheck_interval: timedelta = option(
        timedelta(minutes=5),
        section=_GUARD,
        minimum=0,
        maximum=300,
        help="How often the references are looked at again while files are deleted.",
    )
    files_per_step: int = option(
        25_000,
        section=_SWEEP,
        minimum=1,
        help="A step deletes about this many files; what comes next can be resumed.",
    )
    lease: timedelta = option(
        timedelta(minutes=2),
        section=_SWEEP,
        minimum=1,
        maximum=3600,
        help="How long the lease on the repository holds without a sign of life.",
    )

    @property
    def mode(self) -> DeleteMode:
        """What the last call does."""
        return DeleteMode.DRY_RUN if self.dry_run else DeleteMode.DELETE

    @property
    def caps(self) -> DeletionCaps:
        """Limits on how much one run may delete."""
        return DeletionCaps(max_files=self.max_deletes, max_files_per_unit=self.max_deletes_per_location)

    def allowed(self, rules: LocationRules) -> AllowedLocations:
        """The allow-list, in canonical form.

        Raises:
            ConfigurationError: a prefix is relative, or its scheme is not known.
        """
        try:
            return allowed_locations(self.allow, rules, min_depth=self.min_depth)
        except UnknownLocationError as error:
            raise ConfigurationError(f"`allow`: {error}") from error

    def check(self, choice: ConnectorChoice) -> None:
        """Refuses parameters that make no sense, before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        WalkParameters.check(self, choice)
        self.allowed(choice.rules())
        path = self.outcomes_to
        if path is None:
            return
        if not path.endswith((".jsonl", ".parquet")):
            raise ConfigurationError(f"`outcomes_to` {path!r} must end in .jsonl or .parquet")
        if Path(path).is_dir():
            raise ConfigurationError(f"`outcomes_to` {path!r} is a folder; name a file in it")
        folder = Path(path).parent
        if not folder.is_dir():
            raise ConfigurationError(
                f"`outcomes_to` {path!r}: the folder {str(folder)!r} does not exist; make it first"
            )


@options
class CollectionParameters(DeletionParameters):
    """How garbage is found, and what of it goes."""

    defer_deletes: bool = option(
        False, section=_SWEEP, help="Record what is to be deleted, for 'deferred-deletes', instead of deleting it."
    )
    membership: Membership = option(
        Membership.EXACT,
        section=_SWEEP,
        help="How stored files are compared with reachable ones; a Bloom filter keeps a little garbage.",
    )
    expected_file_count: int = option(
        1_000_000,
        section=_SWEEP,
        minimum=1,
        help="Capacity of the Bloom filter; it is made larger where more is reachable.",
    )
    fpp: float = option(1e-5, section=_SWEEP, help="The Bloom filter's probability to take a dead file for a live one.")
    allowed_fpp: float = option(
        1e-4,
        section=_SWEEP,
        help="Accepted for the original's sake; the filter is sized for what is there, so it is never overfull.",
    )
    min_age: timedelta = option(
        DEFAULT_MIN_AGE,
        section=_GUARD,
        help="Keep files that are younger than this at the time the references were listed.",
    )
    no_age_floor: bool = option(
        False, section=_GUARD, help="Allow a least age below one hour; only where nobody writes to the lake."
    )
    max_file_modification: datetime | None = option(
        None, section=_GUARD, metavar="INSTANT", help="Keep files that were modified later than this."
    )
    max_delete_percent: float | None = option(
        None,
        section=_GUARD,
        metavar="PERCENT",
        minimum=0,
        maximum=100,
        help="Delete nothing in a location where more than this share of its files would go.",
    )

    @property
    def mode(self) -> DeleteMode:
        """What the last call does."""
        if self.dry_run:
            return DeleteMode.DRY_RUN
        return DeleteMode.DEFER if self.defer_deletes else DeleteMode.DELETE

    @property
    def caps(self) -> DeletionCaps:
        """Limits on how much one run may delete."""
        return DeletionCaps(
            max_files=self.max_deletes,
            max_files_per_unit=self.max_deletes_per_location,
            max_percent_per_unit=self.max_delete_percent,
        )

    @property
    def age(self) -> AgeLimit:
        """How old a file has to be."""
        return AgeLimit(min_age=self.min_age, max_file_modification=self.max_file_modification)

    def check(self, choice: ConnectorChoice) -> None:
        """Refuses parameters that make no sense, before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        DeletionParameters.check(self, choice)
        self.age.check(floor=not self.no_age_floor)
        if not 0 < self.fpp < 1:
            raise ConfigurationError(f"`fpp` must lie between 0 and 1, not {self.fpp}")


def _live_set_id() -> str | None:
    return option(None, section=_LIVE_SET, flag="-l", metavar="ID", help="Id of the live set.")


def _read_live_set_id_from() -> str | None:
    return option(
        None,
        section=_LIVE_SET,
        flag="-L",
        metavar="FILE",
        help="File whose first line is the id of the live set.",
    )


@options
class SweepParameters(CollectionParameters):
    """One sweep of a live set."""

    live_set_id: str | None = _live_set_id()
    read_live_set_id_from: str | None = _read_live_set_id_from()
    resume: bool = option(False, section=_SWEEP, help="Take up a sweep that was killed or failed.")


@options
class DeferredDeletionParameters(DeletionParameters):
    """One run of the deletions that a sweep recorded."""

    live_set_id: str | None = _live_set_id()
    read_live_set_id_from: str | None = _read_live_set_id_from()


@options
class GcParameters(CollectionParameters):
    """A mark, and the sweep of its live set."""

    default_cutoff: str = default_cutoff_option()
    cutoff: Sequence[str] = cutoff_option()
    cutoff_ref_time: datetime | None = cutoff_ref_time_option()
    write_live_set_id_to: str | None = write_live_set_id_to_option()

    def policies(self, now: datetime) -> ReferencePolicies:
        """The cut-off policies of the mark."""
        return part_of(self, MarkParameters).policies(now)


def part_of(parameters: ConnectorOptions, wanted: type[P], **more: object) -> P:
    """The parameters that another class has as well."""
    names = {field.name for field in fields(wanted)} & {field.name for field in fields(parameters)}
    return wanted(**{name: getattr(parameters, name) for name in names} | more)
