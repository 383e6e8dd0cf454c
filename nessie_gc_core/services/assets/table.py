"""The table of unreferenced assets, and beside it the table of the runs that filled it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pyarrow as pa

from nessie_gc_core.algorithms.assets import FIRST_SEEN, FillFirstSeen
from nessie_gc_core.algorithms.expansion_cache import ADDED_LATER, CACHED_FILES, ExpansionCache
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import TableError
from nessie_gc_core.model.asset_runs import ASSET_RUNS, AssetRun, RunStatus, complete_runs
from nessie_gc_core.model.assets import ASSETS, ORIGINAL_COLUMNS
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.tables import TableName, TableState
from nessie_gc_core.tables import Tables

log = logging.getLogger(__name__)

KIND, VERSION = "nessie-gc.table", "nessie-gc.table-version"
"""Properties of our tables: what they hold, and in which version of the columns."""
_VERSION = 1
_ASSETS, _RUNS = "unreferenced-assets", "unreferenced-assets-runs"
_REPORT, _LOST, _CACHE = "deleted-assets", "lost-files", "expansion-cache"
_RUNS_SUFFIX = "_runs"
_ISOLATION = {"write.delete.isolation-level": "snapshot"}
"""A run that adds rows does not stop a deletion that takes out others."""
_CLAIMS = 20
"""How many runs may take a number away from one that is at work."""
_PARENT = pa.schema([CACHED_FILES.field("parent")])
_MOST_GONE = 0.2
"""Where more of an expansion cache than this share is of files that are gone, they are forgotten."""
_ONLY_RUNID = pa.schema([pa.field("runid", pa.int64())])


class AssetTable:
    """What was seen to be unreferenced, by which run."""

    def __init__(self, tables: Tables, name: TableName, engine: Engine) -> None:
        self._tables = tables
        self._name = name
        self._runs = (*name[:-1], name[-1] + _RUNS_SUFFIX)
        self._engine = engine

    def __str__(self) -> str:
        return ".".join(self._name)

    # ---- what there is --------------------------------------------------------------------------------
    def exists(self) -> bool:
        """Whether the table of assets and that of its runs are there, and are what they should be.

        Raises:
            TableError: one is something else, or a later version of this program made it.
        """
        assets = self._checked(self._name, _ASSETS, [ASSETS.field(name) for name in ORIGINAL_COLUMNS])
        runs = self._checked(self._runs, _RUNS, ASSET_RUNS)
        return assets is not None and runs is not None

    def _checked(self, name: TableName, kind: str, columns: Sequence[pa.Field]) -> TableState | None:
        state = self._tables.state(name)
        if state is None:
            return None
        shown = ".".join(name)
        version = state.properties.get(VERSION, "0")
        if state.properties.get(KIND, kind) != kind or not version.isdecimal():
            raise TableError(f"the table {shown} holds {state.properties.get(KIND)}, not {kind}; choose another name")
        if int(version) > _VERSION:
            raise TableError(
                f"the table {shown} was created by a later version of this program (its columns have version "
                f"{version}, this program supports {_VERSION}); upgrade nessie-gc-core"
            )
        there = {field.name.lower(): field for field in state.schema}
        for column in columns:
            found = there.get(column.name.lower())
            if found is None or found.type != column.type:
                has = "no such column" if found is None else f"one of type {found.type}"
                raise TableError(
                    f"the table {shown} is not a table of {kind}: expected a column {column.name!r} of type "
                    f"{column.type}, found {has}; choose another name"
                )
        return state

    def make(self) -> None:
        """Makes what is missing of both, columns that came with a later version included."""
        for name, kind, schema, bucket_by in (
            (self._name, _ASSETS, ASSETS, "tableName"),
            (self._runs, _RUNS, ASSET_RUNS, None),
        ):
            _make(self._tables, name, kind, schema, bucket_by)

    def locations(self, more: Sequence[TableName] = ()) -> list[str]:
        """The raw locations of both tables, and of more of the same catalog; tables that do not exist are left out."""
        states = (self._tables.state(name) for name in (self._name, self._runs, *more))
        return [state.location for state in states if state is not None]

    def ours(self, names: Iterable[str]) -> Iterator[str]:
        """The dotted names of those tables of this program that are in the namespace of this one."""
        namespace = [*self._name[:-1]]
        for dotted in sorted(set(names)):
            *above, name = dotted.split(".")
            if above != namespace:
                continue
            with contextlib.suppress(TableError):  # something else, such as a view
                state = self._tables.state((*above, name))
                if state is not None and KIND in state.properties:
                    yield dotted

    # ---- runs -----------------------------------------------------------------------------------------
    def runs(self) -> list[AssetRun]:
        """The complete runs, in the order of their numbers."""
        return complete_runs(self._tables.read(self._runs, ASSET_RUNS).summary())

    def start(self, run: AssetRun) -> AssetRun:
        """Returns a run its number: the greatest that there is, plus one; no two runs get one number.

        Raises:
            TableError: other runs were faster, again and again.
        """
        for _ in range(_CLAIMS):
            state = self._tables.state(self._runs)
            if state is None:
                raise TableError(f"the table {'.'.join(self._runs)} no longer exists; run again")
            numbered = replace(run, runid=max(self._greatest(self._name), self._greatest(self._runs)) + 1)
            if self._tables.claim(self._runs, numbered.row(RunStatus.STARTED), "runid", since=state):
                return numbered
            log.info("another run took number %d of %s", numbered.runid, self)
        raise TableError(f"other runs claimed {_CLAIMS} run numbers of {self} in a row; run again")

    def _greatest(self, name: TableName) -> int:
        rows = self._tables.read(name, _ONLY_RUNID)
        found = rows.aggregate([], {"runid": ("max", "runid")}, _ONLY_RUNID).summary()
        greatest = found.column("runid")[0].as_py() if found.num_rows else None
        return int(greatest or 0)

    def complete(self, run: AssetRun) -> None:
        """Records that a run is complete."""
        row = tuple(run.row(RunStatus.COMPLETE).values())
        self._tables.append(self._runs, self._engine.dataset(to_batches([row], ASSET_RUNS), ASSET_RUNS))

    # ---- sightings ------------------------------------------------------------------------------------
    def sightings(self, runs: Sequence[AssetRun], schema: pa.Schema = ASSETS) -> Dataset:
        """The rows of some runs, with some of their columns, ``runid`` among them."""
        return self._tables.read(self._name, schema).where("runid", [run.runid for run in runs])

    def first_seen(self) -> Dataset:
        """When each asset was first seen by a complete run (:data:`FIRST_SEEN`)."""
        wanted = pa.schema([ASSETS.field(name) for name in ("asset", "timestamp", "runid")])
        rows = self.sightings(self.runs(), wanted)
        return rows.aggregate(["asset"], {"firstSeen": ("min", "timestamp")}, FIRST_SEEN)

    def append(self, rows: Dataset) -> None:
        """Adds the rows of a run that has a number."""
        self._tables.append(self._name, rows)

    def forget(self, assets: Dataset) -> None:
        """Removes all sightings of some assets (their column ``asset``)."""
        self._tables.remove(self._name, assets.select(pa.schema([ASSETS.field("asset")])).distinct(["asset"]))

    def with_first_seen(self, assets: Dataset) -> Dataset:
        """Assets (:data:`ASSETS`), each with the time at which a complete run first saw it, if one has."""
        others = pa.schema([field for field in ASSETS if field.name != "firstSeen"])
        seen = self.first_seen()
        joined = assets.select(others).left_join(seen, ["asset"])
        return joined.flat_map(FillFirstSeen())

    def append_report(self, name: TableName, rows: Dataset) -> None:
        """Adds rows (:data:`HANDLED_ASSETS`) to a report table, which is made where it is missing."""
        self._append_to(name, _REPORT, rows)

    def append_lost(self, name: TableName, rows: Dataset) -> None:
        """Adds rows (:data:`LOST_FILES`) to a table of lost files, which is made where it is missing."""
        self._append_to(name, _LOST, rows)

    # ---- the expansion cache --------------------------------------------------------------------------
    def remembered(self, name: TableName) -> Dataset:
        """What an expansion cache holds (:data:`CACHED_FILES`); nothing if there is none yet."""
        state = self._checked(name, _CACHE, [field for field in CACHED_FILES if field.name not in ADDED_LATER])
        if state is None or ADDED_LATER.difference(field.name.lower() for field in state.schema):
            return self._engine.empty(CACHED_FILES)
        return self._tables.read(name, CACHED_FILES)

    def remember(self, name: TableName, cache: ExpansionCache) -> None:
        """Adds what a run has learned to an expansion cache; forgets what is gone once it is too much of it."""
        learned, gone = cache.learned(), cache.gone()
        if learned is None or gone is None:
            return
        gone_files = gone.select(_PARENT).checkpoint()
        if gone_files.count() > self.remembered(name).count() * _MOST_GONE:
            self._tables.remove(name, gone_files.distinct(_PARENT.names))
        if learned.count():
            self._append_to(name, _CACHE, learned)

    def _append_to(self, name: TableName, kind: str, rows: Dataset) -> None:
        self._checked(name, kind, [field for field in rows.schema if field.name not in ADDED_LATER])
        _make(self._tables, name, kind, rows.schema, None)
        self._tables.append(name, rows)

    def drop(self) -> None:
        """Drops both tables."""
        self._tables.drop(self._name)
        self._tables.drop(self._runs)


def _make(tables: Tables, name: TableName, kind: str, schema: pa.Schema, bucket_by: str | None) -> None:
    """Creates a table, or the columns that it lacks."""
    properties = {KIND: kind, VERSION: str(_VERSION), **_ISOLATION}
    tables.create(name, schema, bucket_by=bucket_by, properties=properties)
    state = tables.state(name)
    there = {field.name.lower() for field in state.schema} if state is not None else set()
    tables.add_columns(name, [field for field in schema if field.name.lower() not in there])
