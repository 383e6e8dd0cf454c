"""S31: random lakes whose tables take over each other's files, and of which some cannot be read any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from collecting import in_memory
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, TableState, put
from scenes import START
from thoroughness import examples

from nessie_gc_core.services.parameters import SweepParameters

TABLES = 5
numbers = st.integers(0, TABLES - 1)
Taking = tuple[int, int | None]
"""Which table gets a snapshot, and of which it takes over a file; of none, it forgets what it had."""


@dataclass
class Lake:
    """The tables as they are, and whose files each has."""

    lake: MemoryLake
    states: list[TableState]

    def snapshot(self, number: int, other: int | None) -> None:
        state = self.states[number]
        if other is None:
            new = state.overwrite(f"{self.lake.next_number()}.parquet")
        else:
            taken = sorted(path for path in self.states[other].needed if path.endswith(".parquet"))
            new = state.append(f"{self.lake.next_number()}.parquet", *taken[:1])
        self.states[number] = new
        self.lake.commit("main", put(new.version))

    def touched(self, number: int) -> set[int]:
        """The tables in whose places a table has files."""
        needed = self.states[number].needed
        return {
            other for other, state in enumerate(self.states) if any(p.startswith(state.location + "/") for p in needed)
        }

    def garbage(self) -> list[str]:
        """A file of each table that nobody needs."""
        left = [self.lake.put(f"{state.location}/data/nobody.parquet") for state in self.states]
        self.lake.advance(timedelta(days=3))
        return left


def new_lake(lake: MemoryLake, takings: Sequence[Taking]) -> Lake:
    tables = (lake.table(f"db.t{number}", location=f"memory://wh/db/t{number}") for number in range(TABLES))
    made = Lake(lake, [table.append("first.parquet") for table in tables])
    lake.commit("main", *(put(state.version) for state in made.states))
    for number, other in takings:
        made.snapshot(number, other)
    return made


@given(
    takings=st.lists(st.tuples(numbers, st.none() | numbers), max_size=12),
    later=st.lists(numbers, max_size=6),
    broken=st.sets(numbers, max_size=3),
    was_read=st.booleans(),
)
@settings(max_examples=examples(25), suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_file_is_lost_and_no_table_keeps_the_garbage_of_one_that_it_never_touched(
    takings: Sequence[Taking], later: Sequence[int], broken: set[int], *, was_read: bool
) -> None:
    with lake_at(START) as lake, in_memory(lake) as services:
        made = new_lake(lake, takings)
        lake.advance(timedelta(days=3))
        if was_read:
            services.collect("1")
        touched = {number: made.touched(number) for number in broken}
        for number in later:
            made.snapshot(number, None)
        for number in broken:
            lake.put(made.states[number].metadata_location, b"broken")
        garbage = made.garbage()
        report = services.collect("1")
        assert {path for state in made.states for path in state.needed} <= lake.paths()
        frozen = set().union(*touched.values()) if was_read or not broken else set(range(TABLES))
        assert {number for number, path in enumerate(garbage) if path in lake.paths()} == frozen | broken
        assert bool(broken) == bool(report.exit_code)


@given(
    takings=st.lists(st.tuples(numbers, st.none() | numbers), max_size=12),
    broken=st.sets(numbers, min_size=1, max_size=3),
)
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_contents_that_are_set_aside_keep_their_own_places_and_no_others(
    takings: Sequence[Taking], broken: set[int]
) -> None:
    with lake_at(START) as lake, in_memory(lake) as services:
        made = new_lake(lake, takings)
        for number in broken:
            lake.objects.delete(made.states[number].metadata_location)
        garbage = made.garbage()
        names = [f"db[.]t{number}" for number in broken]
        report = services.collect("1", sweep=SweepParameters(set_aside=names))
        well = {path for number, state in enumerate(made.states) if number not in broken for path in state.needed}
        assert well <= lake.paths()
        assert {number for number, path in enumerate(garbage) if path in lake.paths()} == broken
        assert (0, broken) == (report.exit_code, {int(name[-1]) for name in report.set_aside})
