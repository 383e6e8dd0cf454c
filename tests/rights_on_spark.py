"""``python tests/rights_on_spark.py FOLDER``: services that need Spark, each with an account for this use only.

The tables are in S3, and in a Nessie that asks for tokens. What each use asked the store for is printed as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie_accounts import ADMIN, GuardedNessie, guarded
from noted_requests import Recording, recording
from s3_accounts import account, asked_for, client, policy
from spark_defaults import FEW_TASKS

from nessie_gc_core import Collector
from nessie_gc_core.api import UnreferencedAssets
from nessie_gc_core.demo.spark import iceberg_session
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.work_branch import Merged
from nessie_gc_core.testing.servers import running
from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.s3 import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READER, WRITER, WORKER, FINDER = "nessie-gc", "nessie-gc-write", "nessie-gc-work", "nessie-gc-assets"
SMALL: Mapping[str, Any] = {"skip_newer_than": "PT0S", "max_small_files": 1.5}
"""All files are small, however young."""


def use_catalog(spark: SparkSession, nessie: GuardedNessie, name: str, user: str, access: Mapping[str, str]) -> None:
    """Gives the session a catalog, for an account of Nessie and one of the storage."""
    settings = {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "nessie",
        ".uri": nessie.uri,
        ".ref": "main",
        ".warehouse": "s3://lake/warehouse",
        ".cache-enabled": "false",
        ".authentication.type": "BEARER",
        ".authentication.token": nessie.token(user),
        ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        ".client.region": access["s3.region"],
        **{f".{key}": value for key, value in access.items()},
    }
    for key, value in settings.items():
        spark.conf.set(f"spark.sql.catalog.{name}{key}", value)


def write(spark: SparkSession, server: S3Server) -> None:
    """A table for each service, with four data files and four manifests, and files that nothing needs."""
    spark.sql("CREATE NAMESPACE admin.db")
    for table in ("files", "manifests", "aside"):
        place = f"s3://lake/warehouse/db/{table}"
        spark.sql(f"CREATE TABLE admin.db.{table} (id BIGINT) USING iceberg LOCATION '{place}'")
        for number in range(4):
            spark.sql(f"INSERT INTO admin.db.{table} VALUES ({number})")
    client(server, "s3").put_object(Bucket="lake", Key="warehouse/db/files/data/dead.parquet", Body=b"left over")
    time.sleep(2.1)  # times of files are whole seconds


def run(folder: Path, server: S3Server, record: Recording, nessie: GuardedNessie) -> dict[str, list[tuple[str, str]]]:
    """What was asked for, by use."""
    bundle = next(Path(class_path("iceberg_rest").removesuffix("/*")).glob("iceberg-aws-bundle*.jar"))
    spark = iceberg_session(log=folder / "spark.log", settings={**FEW_TASKS, "spark.jars": str(bundle)})
    use_catalog(spark, nessie, "admin", ADMIN, server.properties)
    write(spark, server)

    @contextmanager
    def collector(user: str, use: str) -> Iterator[tuple[Collector, str]]:
        """The collector of an account, and its catalog."""
        access = account(server, record.endpoint, f"{user}-{use}", policy(use))
        catalog = f"{user}_{use}".replace("-", "_")
        use_catalog(spark, nessie, catalog, user, access)
        record.take()
        token = nessie.token(user)
        with Collector(spark=spark, uri=nessie.uri, token=token, inmemory=True, iceberg=access) as gc:
            yield gc, catalog

    asked = dict[str, list[tuple[str, str]]]()
    with collector(READER, "mark") as (gc, catalog):
        look(gc, catalog)
        asked["mark"] = sorted(asked_for(record.take()))
    with collector(WRITER, "write") as (gc, catalog):
        rewrite(gc, catalog)
        asked["write"] = sorted(asked_for(record.take()))
    with collector(WORKER, "write") as (gc, catalog):
        compact_aside(gc, catalog)
    with collector(FINDER, "identify") as (gc, catalog):
        found = assets_of(gc, catalog).identify(min_age="PT0S", no_age_floor=True)
        assert found.found.assets, found
        asked["identify"] = sorted(asked_for(record.take()))
    with collector(FINDER, "delete-unreferenced") as (gc, catalog):
        parameters = {"seen_count": 1, "min_age": "PT0S", "no_age_floor": True}
        purged = assets_of(gc, catalog).delete_unreferenced_assets(delete=True, **parameters)
        assert purged.outcomes[Outcome.DELETED].files, purged
    return asked


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


def main() -> None:
    """Starts everything, and stops it."""
    folder = Path(sys.argv[1])
    with (
        running(lambda: S3Server(makes_users=True)) as server,
        recording(server.endpoint) as record,
        guarded() as nessie,
    ):
        json.dump(run(folder, server, record, nessie), sys.stdout)


if __name__ == "__main__":
    main()
