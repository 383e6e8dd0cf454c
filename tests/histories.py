"""Random histories of simulated lakes: branches, tags, merges, renames, drops, shared and nested locations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Protocol, TypeVar

from hypothesis import strategies as st
from lakes_by_hand import LakeBeside
from nessie_gc_memory import MemoryLake, TableState, delete, put

from nessie_gc_core.model.repository import ReferenceKind

START = datetime(2026, 1, 1, tzinfo=UTC)
LOCATIONS = ("wh/db/a", "wh/db/ab", "wh/db/a/inner", "wh/db/b", "wh2/db/shared")
"""Siblings whose names begin alike, one inside another, and few enough that tables share them."""
NAMES = ("x.parquet", "p=a%20b/ü.parquet", "p=1:2/a#b?c.parquet", ".hidden/-.parquet", "a b.parquet", ".odd.crc")
"""Names that survive only where keys stay raw (S4)."""
_names = itertools.count()
_T = TypeVar("_T")


class Choose(Protocol):
    """Chooses one of several."""

    def __call__(self, options: Sequence[_T], /) -> _T: ...


class Author:
    """Writes a history, one random step at a time; steps that make no sense where they come do nothing."""

    def __init__(
        self,
        choose: Choose,
        *,
        names: Sequence[str] = NAMES,
        locations: Sequence[str] = LOCATIONS,
        beside: Author | None = None,
    ) -> None:
        self._choose = choose
        self._names = names
        self._locations = locations
        self._beside = beside
        self.lake: MemoryLake
        self.lake = MemoryLake.named(f"history-{next(_names)}") if beside is None else LakeBeside(beside.lake)
        self.lake.now = START if beside is None else None
        self._states: dict[str, TableState] = {} if beside is None else beside._states
        self.lake.commit("main")

    def step(self) -> None:
        """Some time, then one thing that happens."""
        self.lake.advance(timedelta(hours=self._choose([0, 1, 5, 30])))
        self._choose(self._happenings())()

    def _happenings(self) -> list[Callable[[], None]]:
        happenings: list[Callable[[], None]] = [
            self._change, self._change, self._change, self._create, self._rename, self._drop_table,
            self._make_reference, self._drop_reference, self._assign, self._merge, self._leave_garbage,
        ]  # fmt: skip
        if self._beside is not None:
            happenings.append(self._adopt)
        return happenings

    def _branch(self) -> str:
        return self._choose([r.name for r in self.lake.history.references() if r.kind is ReferenceKind.BRANCH])

    def _table(self, branch: str) -> TableState | None:
        visible = self.lake.history.state_at(self.lake.history.reference(branch).commit_id)
        if not visible:
            return None
        version = visible[self._choose(sorted(visible))]
        assert version.metadata_location is not None
        return self._states[version.metadata_location].renamed(version.content_key)

    def _put(self, branch: str, *states: TableState) -> None:
        for state in states:
            self._states[state.metadata_location] = state
        self.lake.commit(branch, *(put(state.version) for state in states))

    def _new_name(self) -> str:
        return f"{self.lake.next_number()}/{self._choose(self._names)}"

    def _create(self) -> None:
        number = self.lake.next_number()
        location = f"memory://{self._choose(self._locations)}"
        table = self.lake.table(f"db.t{number}", location=location, content_id=f"id-{number}")
        self._put(self._branch(), table.append(self._new_name()))

    def _change(self) -> None:
        branch = self._branch()
        state = self._table(branch)
        if state is None:
            return
        changes: list[Callable[[], TableState]] = [
            lambda: state.append(self._new_name(), self._new_name()),
            lambda: state.overwrite(self._new_name()),
            lambda: state.hold(min(state.snapshots)) if state.snapshots else state,
            lambda: state.hold(),
            lambda: state.move_to(f"memory://{self._choose(self._locations)}"),
            lambda: state.expire(*(set(state.snapshots) - {state.current} - state.held)),
        ]
        self._put(branch, self._choose(changes)())

    def _rename(self) -> None:
        branch = self._branch()
        state = self._table(branch)
        if state is not None:
            renamed = state.renamed(f"db.n{self.lake.next_number()}")
            self.lake.commit(branch, delete(state.key), put(renamed.version))

    def _drop_table(self) -> None:
        branch = self._branch()
        state = self._table(branch)
        if state is not None:
            self.lake.commit(branch, delete(state.key))

    def _make_reference(self) -> None:
        at = self._commit()
        make = self._choose([self.lake.branch, self.lake.tag])
        make(f"r{self.lake.next_number()}", at)

    def _commit(self) -> str:
        return self._choose([commit.commit_id for commit in self.lake.history.commits()])

    def _drop_reference(self) -> None:
        names = [r.name for r in self.lake.history.references() if r.name != "main"]
        if names:
            self.lake.drop(self._choose(names))

    def _assign(self) -> None:
        names = [r.name for r in self.lake.history.references() if r.name != "main"]
        if names:
            self.lake.assign(self._choose(names), self._commit())

    def _merge(self) -> None:
        source, into = self._branch(), self._branch()
        if source != into:
            self.lake.merge(source, into=into)

    def _adopt(self) -> None:
        """Registers a state of a table, which may be in another repository as well."""
        if self._states:
            state = self._states[self._choose(sorted(self._states))]
            self._put(self._branch(), state.renamed(f"db.a{self.lake.next_number()}"))

    def _leave_garbage(self) -> None:
        location = self._choose(self._locations)
        self.lake.put(f"memory://{location}/data/{self._new_name()}")


@st.composite
def lakes(draw: st.DrawFn, max_steps: int = 25) -> MemoryLake:
    """A lake with a random history; its clock stands some time after the last step."""
    author = Author(lambda options: draw(st.sampled_from(options)))
    for _ in range(draw(st.integers(1, max_steps))):
        author.step()
    author.lake.advance(timedelta(hours=draw(st.sampled_from([0, 12, 25, 100]))))
    return author.lake


@st.composite
def lakes_together(draw: st.DrawFn, max_steps: int = 30) -> tuple[MemoryLake, MemoryLake]:
    """Two lakes with histories of their own over the same objects, some tables in both; their clock stands."""
    first = Author(lambda options: draw(st.sampled_from(options)))
    second = Author(lambda options: draw(st.sampled_from(options)), beside=first)
    for _ in range(draw(st.integers(1, max_steps))):
        draw(st.sampled_from([first, second])).step()
    first.lake.advance(timedelta(hours=draw(st.sampled_from([0, 12, 25, 100]))))
    return first.lake, second.lake


policies = st.one_of(
    st.just("NONE"),
    st.integers(0, 6).map(str),
    st.integers(0, 100).map(lambda hours: f"PT{hours}H"),
)
"""Texts of cut-off policies."""
