"""Small pictures of the same kind: the garbage and the reclaimed bytes of each table over time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from nessie_gc_core.model.schedule import TableDay

MOST_TABLES = 12
"""So many tables have a picture; all others share one."""
WIDTH, HEIGHT = 240, 48
"""Of a picture, in units of its own."""
_TOP = 2
"""What stays free above, so that no line is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSeries:
    """What runs said of one table."""

    table: str | None
    """Its dotted name; ``None``: all others together."""
    garbage: Sequence[int | None]
    """The most of each period, in bytes; ``None``: no run said anything of the table."""
    reclaimed: Sequence[int]
    """The sum of each period, in bytes."""
    last_day: date
    """The last day on which a run said something of it."""
    last_garbage: int
    """What there was on that day, in bytes."""

    @property
    def total(self) -> int:
        """Bytes that were reclaimed in all periods."""
        return sum(self.reclaimed)

    @property
    def top(self) -> int:
        """The largest number that is shown, in bytes."""
        return max(*self.reclaimed, *(size or 0 for size in self.garbage))

    @property
    def _scale(self) -> float:
        return (HEIGHT - _TOP) / (self.top or 1)

    @property
    def bars(self) -> str:
        """The path of a bar for each period in which something was reclaimed."""
        step, scale = WIDTH / len(self.reclaimed), self._scale
        return "".join(
            f"M{number * step + step * 0.1:.1f} {HEIGHT}V{HEIGHT - size * scale:.1f}h{step * 0.8:.1f}V{HEIGHT}z"
            for number, size in enumerate(self.reclaimed)
            if size
        )

    @property
    def line(self) -> str:
        """The path of the garbage, with gaps where nothing is known."""
        return "".join(self._points())

    def _points(self) -> Iterator[str]:
        step, scale, before = WIDTH / len(self.garbage), self._scale, None
        for number, size in enumerate(self.garbage):
            if size is not None:
                point = f"{(number + 0.5) * step:.1f} {HEIGHT - size * scale:.1f}"
                yield f"M{point}h0" if before is None else f"L{point}"
            before = size


def multiples(found: Iterable[TableDay], ends: Sequence[date]) -> list[TableSeries]:
    """The tables with the most bytes first, and all others together last; none without a byte.

    Args:
        found: what is known of some days.
        ends: the last days of the periods, the earliest first.
    """
    by_table: dict[str | None, list[TableDay]] = {}
    for each in found:
        if each.day <= ends[-1]:
            by_table.setdefault(each.table, []).append(each)
    made = (_series(table, days, ends) for table, days in by_table.items())
    shown = [each for each in made if each.top]
    return sorted(shown, key=lambda each: (each.table is None, -each.total - each.last_garbage, each.table or ""))


def _series(table: str | None, days: Sequence[TableDay], ends: Sequence[date]) -> TableSeries:
    garbage, reclaimed = dict[date, int](), dict.fromkeys(ends, 0)
    for each in days:
        end = ends[bisect_left(ends, each.day)]
        garbage[end] = max(garbage.get(end, 0), each.garbage)
        reclaimed[end] += each.reclaimed
    last = max(days, key=lambda each: each.day)
    return TableSeries(
        table=table,
        garbage=[garbage.get(end) for end in ends],
        reclaimed=[*reclaimed.values()],
        last_day=last.day,
        last_garbage=last.garbage,
    )
