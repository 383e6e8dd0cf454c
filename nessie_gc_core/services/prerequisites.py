"""What has to be so before anything is swept: a live set that fits, and connectors that reach the workers."""

from __future__ import annotations

from datetime import datetime, timedelta

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError, SafetyError
from nessie_gc_core.model.live_sets import LiveSet
from nessie_gc_core.services.clocks import TOLERANCE


def check_live_set(live_set: LiveSet, repository: str, now: datetime, max_age: timedelta) -> LiveSet:
    """Refuses a live set of another repository, one that is too old (S10), and one from the future (S8).

    Raises:
        SafetyError: the message names what was found and what was expected.
    """
    if live_set.repository != repository:
        raise SafetyError(
            f"live set {live_set.id} was made from {live_set.repository}, not from {repository}; give that repository, "
            "or bring the records along with 'nessie-gc move-records' if it is this one"
        )
    newest = max(live_set.created, live_set.references_listed or live_set.created)
    if newest - now > TOLERANCE:
        raise SafetyError(
            f"live set {live_set.id} is from the future: made at {newest}, and now it is {now}; "
            "correct the clock that is wrong and mark again"
        )
    if now - live_set.created > max_age:
        raise SafetyError(
            f"live set {live_set.id} is {now - live_set.created} old, --max-live-set-age is {max_age}: mark again"
        )
    return live_set


def check_executors(engine: Engine, *connectors: type[object]) -> None:
    """Refuses connectors whose state does not reach executors.

    Raises:
        ConfigurationError: one of them declares itself unfit.
    """
    for connector in connectors:
        if engine.distributed and not getattr(connector, "executor_safe", True):
            name = getattr(connector, "name", connector.__name__)
            raise ConfigurationError(f"{name!r} works in one process only; use --engine local")
