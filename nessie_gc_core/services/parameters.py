"""The typed parameters of the collecting services: the words of the command line, the configuration file and Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import TypeVar

from nessie_gc_core.algorithms.forgotten import plan_warehouses
from nessie_gc_core.algorithms.hold import canonical_places
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.limits import AgeLimit, DeletionCaps
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.quarantine import bucket_of
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.finding_parameters import (
    GUARD,
    SWEEP,
    DroppedRule,
    Membership,
    NoncurrentVersions,
    PlaceParameters,
    by_table_option,
    dropped_after_option,
    dropped_under_option,
    exclude_option,
    expected_file_count_option,
    file_list_max_age_option,
    file_list_option,
    file_list_time_option,
    fpp_option,
    include_option,
    known_unknowns_option,
    max_delete_percent_option,
    max_deletes_option,
    max_deletes_per_location_option,
    max_file_modification_option,
    max_live_set_age_option,
    membership_option,
    min_age_option,
    no_age_floor_option,
    outcomes_option,
)
from nessie_gc_core.services.known_unknowns import check_known_unknowns
from nessie_gc_core.services.listed_tables import check_file_lists
from nessie_gc_core.services.mark_parameters import (
    MarkParameters,
    cutoff_option,
    cutoff_ref_time_option,
    default_cutoff_option,
    write_live_set_id_to_option,
)
from nessie_gc_core.services.output_files import check_output

P = TypeVar("P", bound=ConnectorOptions)

_LIVE_SET = "Live set"


@options
class DeletionParameters(PlaceParameters):
    """The limits of every deletion, by a sweep or after it."""

    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    dry_run: bool = option(False, section=SWEEP, help="Do everything except the deletion itself.")
    by_table: bool = by_table_option()
    outcomes_to: str | None = outcomes_option()
    known_unknowns: str | None = known_unknowns_option()
    quarantine: Sequence[str] = option(
        (),
        section=SWEEP,
        metavar="PLACE",
        help="Move files below this location of their bucket instead of deleting them, so that 'restore' can bring "
        "them back, or hide them in a bucket that keeps versions (versions:s3://BUCKET/, versions:gs://BUCKET/), or "
        "leave them where they are with a tag (tags:s3://BUCKET/); may be repeated, once for each bucket.",
    )
    quarantine_for: timedelta = option(
        timedelta(days=30),
        section=SWEEP,
        help="How long files in quarantine can be restored; then 'purge' takes them.",
    )
    noncurrent_versions: NoncurrentVersions = option(
        NoncurrentVersions.KEEP,
        section=SWEEP,
        help="In a bucket that keeps versions: keep the older versions of deleted files, or delete them as well.",
    )
    max_live_set_age: timedelta = max_live_set_age_option()
    max_deletes: int | None = max_deletes_option()
    max_deletes_per_location: int | None = max_deletes_per_location_option()
    recheck_interval: timedelta = option(
        timedelta(minutes=5),
        section=GUARD,
        minimum=0,
        maximum=300,
        help="How often to check the references again while files are deleted.",
    )
    files_per_step: int = option(
        25_000,
        section=SWEEP,
        minimum=1,
        help="Delete about this many files in one step; a later run can resume after any step.",
    )

    @property
    def mode(self) -> DeleteMode:
        """What happens to unreferenced files."""
        return DeleteMode.DRY_RUN if self.dry_run else self.removing

    @property
    def removing(self) -> DeleteMode:
        """How unreferenced files are removed."""
        return DeleteMode.QUARANTINE if self.quarantine else DeleteMode.DELETE

    @property
    def caps(self) -> DeletionCaps:
        """Limits on how much one run may delete."""
        return DeletionCaps(max_files=self.max_deletes, max_files_per_unit=self.max_deletes_per_location)

    @property
    def tables(self) -> TablePatterns:
        """The tables whose locations are swept; all are read.

        Raises:
            ConfigurationError: a pattern is not a regular expression.
        """
        return TablePatterns.parse(self.include, self.exclude)

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        PlaceParameters.check(self, choice)
        _ = self.tables
        canonical_places(self.quarantine, choice.rules())
        if self.quarantine_for < timedelta(0):
            raise ConfigurationError("`quarantine_for` must not be negative; give a duration such as P30D")
        if self.quarantine and self.noncurrent_versions is NoncurrentVersions.DELETE:
            raise ConfigurationError(
                "`quarantine` and `noncurrent_versions` are mutually exclusive: a purge deletes both"
            )
        if self.outcomes_to is not None:
            check_output("outcomes_to", self.outcomes_to)
        if self.known_unknowns is not None:
            check_known_unknowns(self.known_unknowns)


@options
class CollectionParameters(DeletionParameters):
    """How garbage is found, and what is deleted."""

    defer_deletes: bool = option(
        False, section=SWEEP, help="Record the files for 'deferred-deletes' instead of deleting them."
    )
    membership: Membership = membership_option()
    expected_file_count: int = expected_file_count_option()
    fpp: float = fpp_option()
    allowed_fpp: float = option(
        1e-4,
        section=SWEEP,
        help="For compatibility with the Java tool; ignored, because the filter grows as needed.",
    )
    file_list: Sequence[str] = file_list_option()
    file_list_time: datetime | None = file_list_time_option()
    file_list_max_age: timedelta = file_list_max_age_option()
    dropped_after: timedelta | None = dropped_after_option()
    dropped_under: Sequence[str] = dropped_under_option()
    min_age: timedelta = min_age_option()
    no_age_floor: bool = no_age_floor_option()
    max_file_modification: datetime | None = max_file_modification_option()
    max_delete_percent: float | None = max_delete_percent_option()

    @property
    def only_looks(self) -> bool:
        """Whether nothing is deleted or recorded."""
        return self.dry_run

    @property
    def mode(self) -> DeleteMode:
        """What happens to unreferenced files."""
        if self.only_looks:
            return DeleteMode.DRY_RUN
        return DeleteMode.DEFER if self.defer_deletes else self.removing

    @property
    def caps(self) -> DeletionCaps:
        """Limits on how much one run may delete."""
        return DeletionCaps(
            max_files=self.max_deletes,
            max_files_per_unit=self.max_deletes_per_location,
            max_percent_per_unit=self.max_delete_percent,
        )

    @property
    def dropped(self) -> DroppedRule | None:
        """Which dropped contents are swept; ``None``: none."""
        if self.dropped_after is None:
            return None
        return DroppedRule(after=self.dropped_after, under=tuple(self.dropped_under), age=self.age)

    @property
    def age(self) -> AgeLimit:
        """The minimum age of a file."""
        return AgeLimit(min_age=self.min_age, max_file_modification=self.max_file_modification)

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        DeletionParameters.check(self, choice)
        if self.defer_deletes and self.noncurrent_versions is NoncurrentVersions.DELETE:
            raise ConfigurationError("with `defer_deletes`, give `noncurrent_versions` to 'deferred-deletes' instead")
        self.age.check(floor=not self.no_age_floor)
        self._check_dropped_under(choice.rules())
        check_file_lists(self.file_list, choice)
        if not 0 < self.fpp < 1:
            raise ConfigurationError(f"`fpp` must be between 0 and 1, not {self.fpp}")

    def _check_dropped_under(self, rules: LocationRules) -> None:
        if not self.dropped_under:
            return
        if self.dropped_after is None:
            raise ConfigurationError(
                "`dropped_under` needs `dropped_after`: say how long ago a table must have been dropped"
            )
        if not self.allow:
            raise ConfigurationError("`dropped_under` needs `allow`: name the warehouse there as well")
        if self.file_list:
            raise ConfigurationError(
                "`dropped_under` and `file_list` are mutually exclusive: only a listing shows dropped tables"
            )
        for raw in (each for each in self.quarantine if bucket_of(each) is None):
            place = rules.place_prefix(raw)
            if any(place.startswith(rules.place_prefix(each)) for each in self.dropped_under):
                raise ConfigurationError(f"`quarantine` {raw} is inside `dropped_under`; name a folder outside it")
        if self.defer_deletes:
            raise ConfigurationError("`dropped_under` and `defer_deletes` are mutually exclusive: delete at once")
        plan = plan_warehouses(self.dropped_under, rules, self.allowed(rules))
        for raw, reason in plan.refused.items():
            raise ConfigurationError(f"`dropped_under` {raw!r} {reason}; name it in `allow` as well")
        for reason in plan.unknown.values():
            raise ConfigurationError(f"`dropped_under`: {reason}")


@options
class PlanningParameters(CollectionParameters):
    """A collection that may be planned first."""

    plan: str | None = option(
        None,
        section=SWEEP,
        metavar="FILE",
        help="Delete nothing, and write what would be deleted to this new file (.jsonl or .parquet), for --apply.",
    )

    @property
    def only_looks(self) -> bool:
        """Whether nothing is deleted or recorded; a plan is for a later run."""
        return self.dry_run or self.plan is not None

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        CollectionParameters.check(self, choice)
        if self.plan is not None:
            check_output("plan", self.plan, new=True)


def live_set_id_option() -> str | None:
    """Declares the live set that is meant."""
    return option(
        None,
        section=_LIVE_SET,
        flag="-l",
        metavar="ID",
        also_argument=True,
        help="Id of the live set, or its first characters (4 or more).",
    )


def _read_live_set_id_from() -> str | None:
    return option(
        None,
        section=_LIVE_SET,
        flag="-L",
        metavar="FILE",
        help="Read the id of the live set from the first line of this file.",
    )


@options
class SweepParameters(PlanningParameters):
    """One sweep of a live set."""

    live_set_id: str | None = live_set_id_option()
    read_live_set_id_from: str | None = _read_live_set_id_from()
    resume: bool = option(False, section=SWEEP, help="Resume a sweep that was killed or that failed.")
    apply: str | None = option(
        None,
        section=SWEEP,
        metavar="FILE",
        help="Delete only the files of this plan that are still unreferenced; it names the live set.",
    )

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        PlanningParameters.check(self, choice)
        if self.plan is not None and self.apply is not None:
            raise ConfigurationError("`plan` and `apply` are mutually exclusive: one writes a file, the other deletes")


@options
class DeferredDeletionParameters(DeletionParameters):
    """One run of recorded deletions."""

    live_set_id: str | None = live_set_id_option()
    read_live_set_id_from: str | None = _read_live_set_id_from()


@options
class GcParameters(PlanningParameters):
    """A mark, and the sweep of its live set."""

    default_cutoff: str = default_cutoff_option()
    cutoff: Sequence[str] = cutoff_option()
    cutoff_ref_time: datetime | None = cutoff_ref_time_option()
    write_live_set_id_to: str | None = write_live_set_id_to_option()

    def policies(self, now: datetime) -> ReferencePolicies:
        """The cut-off policies of the mark."""
        return part_of(self, MarkParameters).policies(now)


def part_of(parameters: ConnectorOptions, wanted: type[P], **more: object) -> P:
    """The parameters that another class also has."""
    names = {field.name for field in fields(wanted)} & {field.name for field in fields(parameters)}
    return wanted(**{name: getattr(parameters, name) for name in names} | more)
