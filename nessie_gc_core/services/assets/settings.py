"""The policies and limits of an identification as its run keeps them, and back again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum

from isodate import duration_isoformat

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

Settings = Mapping[str, str | Sequence[str] | None]


def settings_of(parameters: IdentifyParameters) -> Settings:
    """What a run keeps, as text."""
    return {name: _text(getattr(parameters, name)) for name in KEPT}


def _text(value: object) -> str | list[str] | None:
    if value is None:
        return None
    if isinstance(value, timedelta):
        return str(duration_isoformat(value))
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, (list, tuple)):
        return [str(each) for each in value]
    return str(value).lower() if isinstance(value, bool) else str(value)


def parameters_of(settings: Settings, given: Mapping[str, object], **more: object) -> GcParameters:
    """The parameters of a collection with the settings of a run; what is given wins."""
    kept = {name: value for name, value in settings.items() if name in KEPT and value is not None}
    return GcParameters(**{**GcParameters.typed(kept), **given, **more})
