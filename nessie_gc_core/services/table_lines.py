"""How reports of services that rewrite tables are shown, and how they end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from nessie_gc_core.errors import IncompleteError
from nessie_gc_core.model.text import plural

_SHOWN = 20
"""So many tables a terminal shows."""


def table_lines(shown: Sequence[object], quiet: Sequence[object]) -> list[str]:
    """One line for each of some tables.

    Args:
        shown: what was rewritten and what failed.
        quiet: tables without anything to rewrite; they fill the remaining lines.
    """
    room = max(_SHOWN - len(shown), 0)
    lines = [f"  {table}" for table in [*shown[:_SHOWN], *quiet[:room]]]
    if len(shown) > _SHOWN:
        lines.append(f"  and {plural(len(shown) - _SHOWN, 'more table')}; --json has them all")
    if len(quiet) > room:
        lines.append(f"  and {plural(len(quiet) - room, 'table')} with nothing to rewrite")
    return lines


def raise_for_first(failed: Iterable[object]) -> None:
    """Does nothing where no table failed.

    Raises:
        IncompleteError: about the first that did.
    """
    for table in failed:
        raise IncompleteError(f"{table}; see the report, and run again")
