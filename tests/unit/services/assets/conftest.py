"""A lake in memory whose unreferenced assets are kept in a table in memory, on the local engine."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from collecting import LakeServices, in_memory
from nessie_gc_memory import MemoryLake, MemoryTableCatalog, put

from nessie_gc_core.connectors import OpenCatalog
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local.tables import LocalTables
from nessie_gc_core.services.assets.delete import DeleteUnreferencedService
from nessie_gc_core.services.assets.identify import IdentifyService
from nessie_gc_core.services.assets.page.service import AssetPageReport, AssetPageService
from nessie_gc_core.services.assets.parameters import (
    AssetPageParameters,
    DeleteUnreferencedParameters,
    IdentifyParameters,
)
from nessie_gc_core.services.assets.report import AssetsReport, PurgeReport
from nessie_gc_core.services.resources import Resources
from nessie_gc_core.services.run import Run
from nessie_gc_core.tables import Tables

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
CATALOG = "lake"
TABLE = f"{CATALOG}.gc.assets"
NAME, RUNS = ("gc", "assets"), ("gc", "assets_runs")


@dataclass
class AssetLake:
    """A table of a few states, a file that nobody ever committed, and what looks for garbage there."""

    lake: MemoryLake
    services: LakeServices
    catalog: OpenCatalog
    state: Any = None

    def run(self) -> Run:
        """What a service works with."""
        services = self.services

        @contextmanager
        def tables(engine: Engine, catalog: str, branch: str | None) -> Iterator[Tables]:
            yield LocalTables(engine, self.catalog)

        resources = Resources.borrowed(
            repository=services.repository, store=services.store, engine=services.engine, tables=tables
        )
        return Run(resources=resources, choice=services.choice, clock=services.clock, elapsed=services.elapsed)

    def write(self, name: str) -> None:
        """Replaces the one data file of the table."""
        self.state = self.state.overwrite(name)
        self.lake.commit("main", put(self.state.version))

    def identify(self, **given: Any) -> AssetsReport:
        """One identification, a day later, which finds everything older than an hour."""
        self.lake.advance(timedelta(days=1))
        parameters = {"table": TABLE, "default_cutoff": "1", "min_age": timedelta(hours=1), **given}
        return IdentifyService(IdentifyParameters(**parameters)).run(self.run())

    def delete(self, **given: Any) -> PurgeReport:
        """One deletion, an hour later."""
        self.lake.advance(timedelta(hours=1))
        parameters = {"table": TABLE, "seen_count": 2, **given}
        return DeleteUnreferencedService(DeleteUnreferencedParameters(**parameters)).run(self.run())

    def show(self, **given: Any) -> AssetPageReport:
        """The figures, with a threshold of two runs."""
        parameters = AssetPageParameters(**{"table": TABLE, "seen_count": 2, **given})
        return AssetPageService(parameters).run(self.run())

    def rows(self, *columns: str, table: tuple[str, ...] = NAME) -> list[Mapping[str, Any]]:
        """The rows of a table."""
        state = self.catalog.state(table)
        if state is None:
            return []
        batches = self.catalog.read(table, columns or state.schema.names)
        return [row for batch in batches for row in batch.to_pylist()]

    def names(self, *, runid: int) -> set[str]:
        """What the files are called that a run saw."""
        return {row["name"] for row in self.rows("name", "runid") if row["runid"] == runid}


@pytest.fixture
def assets() -> Iterator[AssetLake]:
    name = str(uuid.uuid4())
    lake = MemoryLake.named(name)
    lake.now = LONG_AGO
    tables = MemoryTableCatalog.from_options({})
    with in_memory(lake) as services, tables, tables.open(name) as catalog:
        found = AssetLake(lake, services, catalog)
        found.state = lake.table("db.t", location="memory://warehouse/db/t").append("a.parquet")
        lake.commit("main", put(found.state.version))
        found.write("b.parquet")
        lake.put("memory://warehouse/db/t/data/orphan.parquet")
        yield found
    MemoryLake.forget(name)
