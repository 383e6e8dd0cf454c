"""The options that a plan was made with: it is applied with the same ones, or not at all (S21)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from nessie_gc_core.config.origins import plain_value
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.plans.file import PlanFile

_OF_ONE_RUN = frozenset(
    {
        "apply",
        "by_table",
        "defer_deletes",
        "dry_run",
        "expected_file_count",
        "file_list",
        "file_list_max_age",
        "file_list_time",
        "files_per_step",
        "identify_parallelism",
        "lease",
        "live_set_id",
        "max_live_set_age",
        "outcomes_to",
        "plan",
        "quarantine",
        "quarantine_for",
        "read_live_set_id_from",
        "recheck_interval",
        "resume",
        "visited",
    }
)
"""What says how a run goes on, and not which files it deletes. A plan carries its quarantine on its own."""


def options_of(parameters: SweepParameters) -> dict[str, Any]:
    """What decides which files a sweep deletes, as JSON has it; options with their defaults are left out."""
    usual = SweepParameters()
    names = (field.name for field in fields(SweepParameters) if field.name not in _OF_ONE_RUN)
    values = {name: (getattr(parameters, name), getattr(usual, name)) for name in names}
    return {name: plain_value(value) for name, (value, default) in values.items() if value != default}


def with_options_of(plan: PlanFile, parameters: SweepParameters) -> SweepParameters:
    """The parameters with the options of a plan, for those that are not given.

    Raises:
        ConfigurationError: one is given that the plan was not made with; or the plan has one that is not known.
    """
    made_with: Mapping[str, Any] | None = plan.header.options
    if made_with is None:  # an earlier version wrote it
        return parameters
    typed = SweepParameters.typed(made_with)
    for name, value in options_of(parameters).items():
        if name not in typed or plain_value(typed[name]) != value:  # an instant may be spelled otherwise there
            said = f"with {made_with[name]!r}" if name in made_with else "without it"
            raise ConfigurationError(
                f"`{name}` is {value!r}, but the plan {plan.path} was made {said}: leave it out, or make a new plan"
            )
    return replace(parameters, **typed)
