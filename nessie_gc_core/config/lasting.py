"""Live-set stores that are lost with their process, where another process has to read them."""

from __future__ import annotations

from nessie_gc_core.config.given import Given
from nessie_gc_core.config.specs import MEMORY, chosen_store

_ONE_PROCESS = "{} keeps a live set for one process only, so it works only with 'gc'"
_LEFT = {
    "plan": "no live set would be left to apply it to",
    "quarantine": "no record would be left to restore from",
    "defer_deletes": "no record would be left to delete from",
}
"""Parameters of a 'gc' that need the store later, and what would be missing."""


def memory_setting(given: Given) -> str | None:
    """The setting that keeps the live set in this process, as options have it; ``None``: none does."""
    setting, name = chosen_store(given)
    if name != MEMORY:
        return None
    return "--inmemory" if setting == "inmemory" else "--store memory"


def why_store_is_lost(given: Given, *, needed: bool) -> str | None:
    """Which settings cannot be combined, because the store is lost with this process; ``None``: all is well.

    Args:
        given: the settings and parameters.
        needed: whether another process has to read the store in any case.
    """
    in_memory = memory_setting(given)
    if in_memory is None:
        return None
    if needed:
        return _ONE_PROCESS.format(in_memory)
    for name, reason in _LEFT.items():
        if given.values.get(name):
            return f"{in_memory} and --{name.replace('_', '-')} are mutually exclusive: {reason}"
    return None
