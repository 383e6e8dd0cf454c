"""What one call of the collector was given, as the parameters of services have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.mark_parameters import MarkParameters
from nessie_gc_core.services.parameters import SweepParameters


def told(parameters: Mapping[str, Any], cutoffs: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The parameters of one call.

    Args:
        parameters: its keywords.
        cutoffs: patterns of reference names, each with its cut-off policy.

    Raises:
        ConfigurationError: one is given twice, or is ambiguous.
    """
    if "dry_run" in parameters:
        raise ConfigurationError("leave out `dry_run`: plan() never deletes; for the others, set `delete`")
    if cutoffs is not None and "cutoff" in parameters:
        raise ConfigurationError("`cutoff` and `cutoffs` are mutually exclusive")
    return {**parameters, **_cutoff(cutoffs)}


def _cutoff(cutoffs: Mapping[str, str] | None) -> dict[str, list[str]]:
    """Patterns with their policies as the parameter has them.

    Raises:
        ConfigurationError: a pattern contains a separator.
    """
    if cutoffs is None:
        return {}
    for pattern in cutoffs:
        if "," in pattern or "=" in pattern:
            raise ConfigurationError(
                f"the pattern {pattern!r} in `cutoffs` contains a comma or '=', which separate entries"
            )
    return {"cutoff": [f"{pattern}={policy}" for pattern, policy in cutoffs.items()]}


def refuse_marking(given: Mapping[str, Any]) -> None:
    """Rejects parameters that only a mark accepts.

    Raises:
        ConfigurationError: the message names it.
    """
    marking = {field.name for field in fields(MarkParameters)} - {field.name for field in fields(SweepParameters)}
    for name in marking & set(given):
        raise ConfigurationError(f"a live set already has its cut-off policies; leave out `{name}`")
