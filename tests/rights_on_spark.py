"""``python tests/rights_on_spark.py FOLDER``: services that need Spark, each with an account for this use only.

The tables are in S3, and in a Nessie that asks for tokens. What each use asked the store for is printed as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nessie_accounts import ADMIN, GuardedNessie, guarded
from noted_requests import Recording, recording
from s3_accounts import account, asked_for, client, policy
from spark_defaults import FEW_TASKS

from nessie_gc_core import Collector
from nessie_gc_core.api import UnreferencedAssets
from nessie_gc_core.demo.spark import iceberg_session
from nessie_gc_core.testing.servers import running
from nessie_gc_core.testing.servers.jars import class_path
from nessie_gc_core.testing.servers.s3 import S3Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITER = "nessie-gc-write"


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
    for table in ("files", "manifests"):
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
    writing = account(server, record.endpoint, "write", policy("write"))
    finding = account(server, record.endpoint, "identify", policy("identify"))
    use_catalog(spark, nessie, "lake", WRITER, writing)
    use_catalog(spark, nessie, "found", ADMIN, finding)
    record.take()
    with Collector(spark=spark, uri=nessie.uri, token=nessie.token(WRITER), inmemory=True, iceberg=writing) as gc:
        manifests = gc.rewrite_manifests("lake", include=["db[.]manifests"]).apply()
        files = gc.compact("lake", include=["db[.]files"], skip_newer_than="PT0S", max_small_files=1.5).apply()
    wrote = asked_for(record.take())
    assert [["rewritten"], ["rewritten"]] == [
        [table.outcome.value for table in report.tables] for report in (manifests, files)
    ], (manifests, files)
    with Collector(spark=spark, uri=nessie.uri, token=nessie.token(ADMIN), inmemory=True, iceberg=finding) as gc:
        assets = gc.unreferenced_assets("found.gc.unreferenced")
        assert isinstance(assets, UnreferencedAssets)
        report = assets.identify(min_age="PT0S", no_age_floor=True)
    assert report.found.assets, report
    return {"write": sorted(wrote), "identify": sorted(asked_for(record.take()))}


def main() -> None:
    """Starts everything, and stops it."""
    folder = Path(sys.argv[1])
    with (
        running(lambda: S3Server(makes_users=True)) as server,
        recording(server.endpoint) as record,
        guarded(WRITER) as nessie,
    ):
        json.dump(run(folder, server, record, nessie), sys.stdout)


if __name__ == "__main__":
    main()
