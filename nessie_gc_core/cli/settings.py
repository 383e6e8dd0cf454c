"""From option values to the typed settings of the services."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import click

from nessie_gc_core.algorithms.units import allowed_locations
from nessie_gc_core.cli.command import Given
from nessie_gc_core.cli.connections import connector_choice, registry_of
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import VisitedDeduplicator
from nessie_gc_core.errors import ConfigurationError, NessieGcError, UnknownLocationError
from nessie_gc_core.model.limits import AgeLimit, AllowedLocations, DeletionCaps
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.settings import MarkSettings, Membership, SweepSettings

N = TypeVar("N", int, float, timedelta)


def mark_settings(given: Given) -> MarkSettings:
    """The parameters of a mark.

    Raises:
        ConfigurationError: a policy, a pattern or a deduplicator is not known.
    """
    policies = ReferencePolicies.parse(
        given.text("default_cutoff") or "NONE",
        given.texts("cutoff"),
        reference_time=given.instant("cutoff_ref_time") or datetime.now(UTC),
    )
    return MarkSettings(
        policies=policies,
        parallelism=given.number("identify_parallelism") or 1,
        deduplicator=_deduplicator(given),
        choice=connector_choice(given),
    )


def sweep_settings(given: Given) -> SweepSettings:
    """The parameters of a sweep, or of deferred deletions as far as they have them.

    Raises:
        ConfigurationError: one of them makes no sense.
    """
    choice = connector_choice(given)
    defaults = SweepSettings()
    settings = SweepSettings(
        choice=choice,
        allowed=allowed(given, choice),
        age=AgeLimit(
            min_age=_or(given.duration("min_age"), defaults.age.min_age),
            max_file_modification=given.instant("max_file_modification"),
        ),
        age_floor=not given.flag("no_age_floor"),
        caps=DeletionCaps(
            max_files=given.number("max_deletes"),
            max_files_per_unit=given.number("max_deletes_per_location"),
            max_percent_per_unit=given.real("max_delete_percent"),
        ),
        mode=_mode(given),
        membership=Membership(given.text("membership") or Membership.EXACT.value),
        expected_file_count=_or(given.number("expected_file_count"), defaults.expected_file_count),
        false_positive_rate=_or(given.real("fpp"), defaults.false_positive_rate),
        strict_unknown=given.flag("strict_unknown"),
        max_live_set_age=_or(given.duration("max_live_set_age"), defaults.max_live_set_age),
        resume=given.flag("resume"),
        outcomes_to=given.text("outcomes_to"),
        parallelism=given.number("identify_parallelism") or defaults.parallelism,
        deduplicator=_deduplicator(given),
    )
    settings.check()
    return settings


def _or(value: N | None, default: N) -> N:
    return default if value is None else value


def _mode(given: Given) -> DeleteMode:
    if given.flag("dry_run"):
        return DeleteMode.DRY_RUN
    return DeleteMode.DEFER if given.flag("defer_deletes") else DeleteMode.DELETE


def _deduplicator(given: Given) -> ConnectorSpec:
    name = given.text("visited") or "exact"
    registry_of(given).connector_class(VisitedDeduplicator, name)
    kind = "visited-deduplicator"
    return ConnectorSpec(kind=kind, name=name, options=connector_choice(given).options.get((kind, name), {}))


def allowed(given: Given, choice: ConnectorChoice) -> AllowedLocations:
    """The allow-list, in canonical form.

    Raises:
        ConfigurationError: a prefix is relative, or its scheme is not known.
    """
    rules = choice.rules()
    try:
        return allowed_locations(given.texts("allow"), rules, min_depth=given.number("min_depth"))
    except UnknownLocationError as error:
        raise ConfigurationError(f"--allow: {error}") from error


def live_set_id(given: Given) -> UUID:
    """The live set that ``-l`` or ``-L`` names.

    Raises:
        click.UsageError: none is named, or both options are given.
        ConfigurationError: the file cannot be read, or holds no id.
    """
    chosen = given.one_of("live_set_id", "read_live_set_id_from")
    if chosen is None:
        raise click.UsageError("give the live set: -l ID, or -L FILE that holds its id ('nessie-gc list' shows all)")
    if chosen == "live_set_id":
        return given.raw("live_set_id")  # type: ignore[no-any-return]  # click.UUID made it
    path = Path(given.text("read_live_set_id_from") or "")
    try:
        with path.open(encoding="utf-8") as file:
            line = file.readline().strip()
        return UUID(line)
    except OSError as error:
        raise ConfigurationError(f"cannot read --read-live-set-id-from {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"cannot read --read-live-set-id-from {path}: it is not text in UTF-8") from error
    except ValueError as error:
        raise ConfigurationError(f"the first line of {path} is {line[:60]!r}, not the id of a live set") from error


def prepare_id_file(given: Given) -> Path | None:
    """Makes the file for the live set's id, with its folders, before anything else.

    Raises:
        NessieGcError: it cannot be made.
    """
    path = given.path("write_live_set_id_to")
    if path is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("", encoding="utf-8")
        except OSError as error:
            raise NessieGcError(f"cannot write --write-live-set-id-to {path}: {error.strerror or error}") from error
    return path
