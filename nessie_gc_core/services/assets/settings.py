"""The policies and limits of an identification as its run keeps them, and back again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum

from nessie_gc_core.model.text import iso_duration, json_time
from nessie_gc_core.services.assets.parameters import IdentifyParameters
from nessie_gc_core.services.parameters import GcParameters

KEPT = (
    "default_cutoff",
    "cutoff",
    "cutoff_ref_time",
    "min_age",
    "no_age_floor",
    "max_file_modification",
    "dropped_after",
    "dropped_under",
    "include",
    "exclude",
    "allow",
    "min_depth",
    "strict_unknown",
    "set_aside",
    "membership",
    "expected_file_count",
    "fpp",
)
"""What decides which files are unreferenced."""

LEFT_OUT = "left_out"
"""Beside them, a run keeps the canonical locations that it could say nothing about."""
ALL_LEFT_OUT = "*"
"""Stands among them if there are too many to keep."""
_MOST_LEFT_OUT = 1_000

Settings = Mapping[str, str | Sequence[str] | None]


def settings_of(parameters: IdentifyParameters, left_out: Collection[str]) -> Settings:
    """What a run keeps, as text.

    Args:
        parameters: those of the run.
        left_out: the canonical locations that it could say nothing about.
    """
    kept = {name: text_of(getattr(parameters, name)) for name in KEPT}
    return {**kept, LEFT_OUT: sorted(left_out) if len(left_out) <= _MOST_LEFT_OUT else [ALL_LEFT_OUT]}


def text_of(value: object) -> str | list[str] | None:
    """The value of a setting as a run keeps it."""
    if value is None:
        return None
    if isinstance(value, timedelta):
        return iso_duration(value)
    if isinstance(value, datetime):
        return json_time(value)
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def parameters_of(settings: Settings, given: Mapping[str, object], **more: object) -> GcParameters:
    """The parameters of a collection with the settings of a run; what is given wins."""
    kept = {name: value for name, value in settings.items() if name in KEPT and value is not None}
    return GcParameters(**{**GcParameters.typed(kept), **given, **more})
