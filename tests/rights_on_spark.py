"""``python tests/rights_on_spark.py STORE FOLDER``: services that need Spark, each with an account for this use only.

The tables are in an object store, and in a Nessie that asks for tokens. The rights that each use needed in the store
are printed as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest
from nessie_accounts import ADMIN, GuardedNessie, guarded
from spark_defaults import FEW_TASKS
from stores_for_spark import STORES, SparkStore

from nessie_gc_core import Collector
from nessie_gc_core.api import UnreferencedAssets
from nessie_gc_core.demo.spark import iceberg_session
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.work_branch import Merged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READER, WRITER, WORKER = "nessie-gc", "nessie-gc-write", "nessie-gc-work"
FINDER, DROPPER = "nessie-gc-assets", "nessie-gc-assets-drop"
SMALL: Mapping[str, Any] = {"skip_newer_than": "PT0S", "max_small_files": 1.5}
"""All files are small, however young."""
APPROVED: Mapping[str, Any] = {"seen_count": 1, "min_age": "PT0S", "no_age_floor": True}


def write(spark: SparkSession, store: SparkStore) -> None:
    """A table for each service, with four data files and four manifests, and files that nothing needs."""
    spark.sql("CREATE NAMESPACE admin.db")
    for table in ("files", "manifests", "aside"):
        place = f"{store.url}/warehouse/db/{table}"
        spark.sql(f"CREATE TABLE admin.db.{table} (id BIGINT) USING iceberg LOCATION '{place}'")
        for number in range(4):
            spark.sql(f"INSERT INTO admin.db.{table} VALUES ({number})")
    store.put("warehouse/db/files/data/dead.parquet", b"left over")
    time.sleep(2.1)  # times of files are whole seconds


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A session with tables, and accounts of two servers."""

    spark: SparkSession
    store: SparkStore
    nessie: GuardedNessie

    @classmethod
    def built(cls, folder: Path, store: SparkStore, nessie: GuardedNessie) -> Self:
        """The session, and what it wrote."""
        jars = ",".join(map(str, store.jars()))
        spark = iceberg_session(log=folder / "spark.log", settings={**FEW_TASKS, "spark.jars": jars})
        stage = cls(spark=spark, store=store, nessie=nessie)
        stage.use("admin", ADMIN, store.administrator())
        write(spark, store)
        return stage

    def use(self, catalog: str, user: str, access: Mapping[str, str]) -> None:
        """Gives the session a catalog, for an account of Nessie and one of the storage."""
        settings = {
            "": "org.apache.iceberg.spark.SparkCatalog",
            ".type": "nessie",
            ".uri": self.nessie.uri,
            ".ref": "main",
            ".warehouse": f"{self.store.url}/warehouse",
            ".cache-enabled": "false",
            ".authentication.type": "BEARER",
            ".authentication.token": self.nessie.token(user),
            **{f".{key}": value for key, value in access.items()},
        }
        for key, value in settings.items():
            self.spark.conf.set(f"spark.sql.catalog.{catalog}{key}", value)

    @contextmanager
    def collector(self, user: str, use: str) -> Iterator[tuple[Collector, str]]:
        """The collector of an account, and its catalog."""
        access, catalog = self.store.account(f"{user}-{use}", use), f"{user}_{use}".replace("-", "_")
        self.use(catalog, user, access.spark)
        self.store.asked()
        given: dict[str, Any] = {"uri": self.nessie.uri, "token": self.nessie.token(user), "iceberg": access.iceberg}
        with Collector(spark=self.spark, inmemory=True, **given) as gc:
            yield gc, catalog


def of_writers(stage: Stage) -> Iterator[tuple[str, list[str]]]:
    """Uses that look at tables or rewrite them, with the rights that were needed."""
    with stage.collector(READER, "mark") as (gc, catalog):
        look(gc, catalog)
        yield "mark", stage.store.asked()
    with stage.collector(WRITER, "write") as (gc, catalog):
        rewrite(gc, catalog)
        yield "write", stage.store.asked()
    with stage.collector(WORKER, "write") as (gc, catalog):
        compact_aside(gc, catalog)


def of_finders(stage: Stage) -> Iterator[tuple[str, list[str]]]:
    """Uses of the table of unreferenced assets, with the rights that were needed."""
    with stage.collector(FINDER, "identify") as (gc, catalog):
        found = assets_of(gc, catalog).identify(min_age="PT0S", no_age_floor=True)
        assert found.found.assets, found
        yield "identify", stage.store.asked()
    with stage.collector(FINDER, "delete-unreferenced") as (gc, catalog):
        purged = assets_of(gc, catalog).delete_unreferenced_assets(delete=True, **APPROVED)
        assert purged.outcomes[Outcome.DELETED].files, purged
        yield "delete-unreferenced", stage.store.asked()
        refuse_to_drop(gc, catalog, stage.nessie)
    with stage.collector(DROPPER, "delete-unreferenced") as (gc, catalog):
        assets_of(gc, catalog).delete_unreferenced_assets(delete=True, drop_gc_table=True, **APPROVED)
        assert set() == tables_of_assets(stage.nessie)


def look(gc: Collector, catalog: str) -> None:
    """Says what would be rewritten."""
    manifests = gc.rewrite_manifests(catalog, include=["db[.]manifests"]).report
    files = gc.compact(catalog, include=["db[.]files"], **SMALL).report
    for report in (manifests, files):
        assert ["rewritten"] == [table.outcome.value for table in report.tables], report


def rewrite(gc: Collector, catalog: str) -> None:
    """Rewrites the manifests of a table, and the files of another one."""
    manifests = gc.rewrite_manifests(catalog, include=["db[.]manifests"]).apply()
    files = gc.compact(catalog, include=["db[.]files"], **SMALL).apply()
    for report in (manifests, files):
        assert ["rewritten"] == [table.outcome.value for table in report.tables], report


def compact_aside(gc: Collector, catalog: str) -> None:
    """Rewrites the files of a table on a branch of its own, and merges that."""
    branches = {"table_branch": "main", "work_branch": "gc/compaction", "merge": True}
    report = gc.compact(catalog, include=["db[.]aside"], **SMALL, **branches).apply()
    merge = report.work_branch
    assert merge is not None
    assert (Merged.MERGED, None) == (merge.outcome, merge.reason), report


def assets_of(gc: Collector, catalog: str) -> UnreferencedAssets:
    """The unreferenced assets, with their table."""
    assets = gc.unreferenced_assets(f"{catalog}.gc.unreferenced")
    assert isinstance(assets, UnreferencedAssets)
    return assets


def refuse_to_drop(gc: Collector, catalog: str, nessie: GuardedNessie) -> None:
    """An account that may not drop the tables of assets is told so, and they stay."""
    before = tables_of_assets(nessie)
    with pytest.raises(NessieGcError, match="'DELETE_ENTITY' is not allowed"):
        assets_of(gc, catalog).delete_unreferenced_assets(delete=True, drop_gc_table=True, **APPROVED)
    assert before == tables_of_assets(nessie)
    assert before


def tables_of_assets(nessie: GuardedNessie) -> set[str]:
    """Those in the namespace of the tables of assets."""
    found = nessie.ask("GET", "/trees/unreferenced_assets/entries")["entries"]
    return {key[-1] for each in found if (key := each["name"]["elements"])[:-1] == ["gc"]}


def main() -> None:
    """Starts everything, and stops it."""
    name, folder = sys.argv[1:]
    with STORES[name]() as store, guarded() as nessie:
        stage = Stage.built(Path(folder), store, nessie)
        json.dump({**dict(of_writers(stage)), **dict(of_finders(stage))}, sys.stdout)


if __name__ == "__main__":
    main()
