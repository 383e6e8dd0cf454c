"""The typed parameters of snapshot expiry."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from nessie_gc_core.algorithms.retention import Retention
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.limits import AgeLimit, DeletionCaps
from nessie_gc_core.model.options import option, options
from nessie_gc_core.model.policies import parse_duration, time_before
from nessie_gc_core.model.table_patterns import TablePatterns, compiled
from nessie_gc_core.services.finding_parameters import (
    commit_retries_option,
    exclude_option,
    include_option,
    max_delete_percent_option,
    min_age_option,
    no_age_floor_option,
)
from nessie_gc_core.services.mark_parameters import (
    MarkParameters,
    cutoff_option,
    cutoff_ref_time_option,
    default_cutoff_option,
)
from nessie_gc_core.services.parameters import (
    DeletionParameters,
    SweepParameters,
    part_of,
)

EXPIRY = "Snapshots"
HISTORY = "Repositories with a history"
_WORDS = ("older-than", "retain-last", "max-ref-age", "max-position-age")


@options
class ExpireSnapshotsParameters(DeletionParameters):
    """Which snapshots expire, of which tables, and which of their files are deleted."""

    older_than: str | None = option(
        None,
        section=EXPIRY,
        metavar="TIME",
        help="Expire snapshots older than this instant or duration, such as P5D (default: each table's properties).",
    )
    retain_last: int | None = option(
        None,
        section=EXPIRY,
        metavar="N",
        minimum=1,
        help="Keep this many snapshots of every branch, whatever their age (default: each table's properties).",
    )
    max_ref_age: timedelta | None = option(
        None,
        section=EXPIRY,
        minimum=0,
        help="Expire Iceberg tags and branches older than this; main never expires (default: each table's properties).",
    )
    max_position_age: timedelta | None = option(
        None,
        section=EXPIRY,
        minimum=0,
        help="Expire positions of streaming writers (Flink, Kafka Connect, Spark) older than this; PT0S keeps none "
        "(default: each writer's newest position stays, with the snapshots up to it).",
    )
    snapshot_ids: Sequence[str] = option(
        (), section=EXPIRY, metavar="ID", help="Also expire this snapshot, whatever its age; may be repeated."
    )
    retention: Sequence[str] = option(
        (),
        section=EXPIRY,
        metavar="PATTERN=WORDS",
        whole=True,
        help="Override these for tables that match, such as 'sales[.].*=older-than P30D retain-last 5 max-ref-age "
        "P90D max-position-age P30D'.",
    )
    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    clean_expired_metadata: bool = option(
        False, section=EXPIRY, help="Also remove schemas and partition specs that nothing uses any more."
    )
    commit_retries: int = commit_retries_option()
    commit_to: Sequence[str] = option(
        (),
        section=HISTORY,
        metavar="PATTERN",
        whole=True,
        help="Commit to branches whose whole name matches this regular expression (required for Nessie, and only for "
        "Nessie).",
    )
    default_cutoff: str = default_cutoff_option()
    cutoff: Sequence[str] = cutoff_option()
    cutoff_ref_time: datetime | None = cutoff_ref_time_option()
    min_age: timedelta = min_age_option()
    no_age_floor: bool = no_age_floor_option()
    max_delete_percent: float | None = max_delete_percent_option()

    @property
    def caps(self) -> DeletionCaps:
        """Limits on how much one run may delete."""
        return self.sweep.caps

    @property
    def patterns(self) -> TablePatterns:
        """Of which tables snapshots expire."""
        return TablePatterns.parse(self.include, self.exclude)

    @property
    def sweep(self) -> SweepParameters:
        """The sweep that follows."""
        return part_of(self, SweepParameters, include=(), exclude=())  # which files go follows from the tables

    @property
    def mark(self) -> MarkParameters:
        """The mark before it: every listed snapshot is live, but those that expire."""
        return part_of(self, MarkParameters, default_cutoff="NONE", cutoff=())

    @property
    def mark_of_history(self) -> MarkParameters:
        """The mark of a repository with a history: its live commits say which snapshots stay listed."""
        return part_of(self, MarkParameters)

    @property
    def branches(self) -> tuple[re.Pattern[str], ...]:
        """Patterns of the branches that are committed to."""
        return compiled("commit_to", self.commit_to)

    def retentions(self, now: datetime) -> Retentions:
        """The rules for each table; durations count back from ``now``.

        Raises:
            ConfigurationError: one of them is invalid.
        """
        overall = Retention(
            older_than=None if self.older_than is None else time_before(self.older_than, now, "older_than"),
            retain_last=self.retain_last,
            max_ref_age=self.max_ref_age,
            max_position_age=self.max_position_age,
            snapshot_ids=frozenset(map(_snapshot_id, self.snapshot_ids)),
        )
        return Retentions(overall, [_by_pattern(text, overall, now) for text in self.retention])

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        DeletionParameters.check(self, choice)
        AgeLimit(min_age=self.min_age).check(floor=not self.no_age_floor)
        now = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
        self.retentions(now)
        self.mark_of_history.policies(now)
        _ = self.patterns, self.branches

    def check_without_history(self) -> None:
        """Refuses what only means something where a repository has branches.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        if self.commit_to:
            raise ConfigurationError("`commit_to` is for repositories with branches, such as Nessie; leave it out")

    def check_with_history(self) -> None:
        """Refuses what means nothing where a repository has a history, and asks for the branches.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        if not self.commit_to:
            raise ConfigurationError(
                "this repository has branches: choose those to commit to with `commit_to`, for example main"
            )
        ages = [self.max_ref_age, *(each.max_ref_age for _, each in self.retentions(datetime.now(UTC)).by_pattern)]
        if any(age is not None for age in ages):
            raise ConfigurationError(
                "`max_ref_age` is for plain catalogs: here, tags and branches in the metadata "
                "never expire; leave it out"
            )
        if self.clean_expired_metadata:
            raise ConfigurationError(
                "`clean_expired_metadata` is for plain catalogs: here, schemas and specs stay; leave it out"
            )
        if self.outcomes_to is not None:
            raise ConfigurationError(
                "`outcomes_to` needs a run that deletes files, which only 'gc' does here; leave it out"
            )


@dataclass(frozen=True, slots=True)
class Retentions:
    """Rules for all tables, and others for some."""

    overall: Retention
    by_pattern: Sequence[tuple[TablePatterns, Retention]]

    @property
    def patterns(self) -> list[re.Pattern[str]]:
        """The patterns of those others."""
        return [pattern for patterns, _ in self.by_pattern for pattern in patterns.include]

    def of(self, table: str) -> Retention:
        """Those of a table; of several patterns that match it the first decides."""
        return next((found for patterns, found in self.by_pattern if patterns.matches(table)), self.overall)


def _by_pattern(text: str, overall: Retention, now: datetime) -> tuple[TablePatterns, Retention]:
    pattern, _, words = text.partition("=")
    said = words.split()
    pairs = dict(zip(said[::2], said[1::2], strict=False))
    if not pattern.strip() or not said or len(said) != 2 * len(pairs) or not set(pairs) <= set(_WORDS):
        raise ConfigurationError(
            f"`retention` {text!r} is not of the form PATTERN=WORD VALUE ..., with the words {', '.join(_WORDS)}"
        )
    older_than, retain_last, max_ref_age, max_position_age = (pairs.get(word) for word in _WORDS)
    retention = Retention(
        older_than=overall.older_than if older_than is None else time_before(older_than, now, "older_than"),
        retain_last=overall.retain_last if retain_last is None else _positive(retain_last, text),
        max_ref_age=overall.max_ref_age if max_ref_age is None else _age("max-ref-age", max_ref_age, text),
        max_position_age=(
            overall.max_position_age if max_position_age is None else _age("max-position-age", max_position_age, text)
        ),
        snapshot_ids=overall.snapshot_ids,
    )
    return TablePatterns(include=compiled("retention", [pattern.strip()])), retention


def _age(word: str, text: str, whole: str) -> timedelta:
    age = parse_duration(text)
    if age < timedelta(0):
        raise ConfigurationError(f"`retention` {whole!r}: {word} {text!r} is negative")
    return age


def _positive(text: str, whole: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ConfigurationError(f"`retention` {whole!r}: retain-last {text!r} must be a number of at least 1")
    return int(text)


def _snapshot_id(text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise ConfigurationError(f"`snapshot_ids` {text!r} is not a number") from error
