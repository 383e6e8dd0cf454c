"""A small lake with everything that a collector meets: steps of SQL, and what happens to references between them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nessie_gc_core.demo.references import References

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DROPPED_TABLE = "returns"
"""The table that is dropped long before the window of live commits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lake:
    """What a step may use."""

    spark: SparkSession
    references: References
    warehouse: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing that happens to the lake."""

    title: str
    statements: Sequence[str] = ()
    """SQL; ``t@branch`` is the table on a branch."""
    before: Callable[[Lake], None] | None = None
    """Runs before the statements."""
    after: Callable[[Lake], None] | None = None
    """Runs after them."""

    def run(self, lake: Lake) -> None:
        """Does it."""
        if self.before is not None:
            self.before(lake)
        for statement in self.statements:
            lake.spark.sql(statement)
        if self.after is not None:
            self.after(lake)


def leave_failed_write(lake: Lake) -> None:
    """Leaves what a writer that died before its commit leaves: data files, a manifest, a metadata file."""
    table = table_folder(lake.warehouse, "orders")
    data = next(path for path in sorted(table.glob("data/**/*.parquet")) if "deletes" not in path.name)
    manifest = min(table.glob("metadata/*-m0.avro"))
    metadata = max(table.glob("metadata/*.metadata.json"))
    attempt = "0dead000-0000-4000-8000-000000000000"
    copies = {
        data: [data.with_name(f"0000{task}-99-{attempt}-0-00001.parquet") for task in range(3)],
        manifest: [manifest.with_name(f"{attempt}-m0.avro")],
        metadata: [metadata.with_name(f"00099-{attempt}.metadata.json")],
    }
    for source, targets in copies.items():
        for target in targets:
            shutil.copyfile(source, target)
            sidecar = source.with_name(f".{source.name}.crc")
            if sidecar.exists():
                shutil.copyfile(sidecar, target.with_name(f".{target.name}.crc"))


def table_folder(warehouse: Path, table: str) -> Path:
    """The folder of a table or view of the namespace ``shop``; Iceberg adds a random part to its name."""
    return next(warehouse.joinpath("shop").glob(f"{table}_*"))


STEPS: Sequence[Step] = (
    Step(
        title="tables orders and customers",
        statements=(
            "CREATE NAMESPACE nessie.shop",
            "CREATE TABLE nessie.shop.orders (id BIGINT, customer STRING, amount DOUBLE) USING iceberg"
            " PARTITIONED BY (customer) TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')",
            "CREATE TABLE nessie.shop.customers (name STRING, town STRING) USING iceberg"
            " TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'copy-on-write')",
        ),
    ),
    Step(
        title="appends, and the view revenue",
        statements=(
            "INSERT INTO nessie.shop.customers VALUES ('Ada', 'London'), ('Blaise', 'Paris'), ('Carl', 'Jena')",
            "INSERT INTO nessie.shop.orders VALUES (1, 'Ada', 10.0), (2, 'Blaise', 20.0), (3, 'Ada', 30.0)",
            "INSERT INTO nessie.shop.orders VALUES (4, 'Ada', 40.0), (5, 'Carl', 50.0), (6, 'Ada', 60.0)",
            "CREATE VIEW nessie.shop.revenue AS"
            " SELECT customer, sum(amount) AS total FROM nessie.shop.orders GROUP BY customer",
        ),
    ),
    Step(
        title="the tag opening",
        after=lambda lake: lake.references.create_tag("opening"),
    ),
    Step(
        title="the branch experiment, with its own commit",
        before=lambda lake: lake.references.create_branch("experiment"),
        statements=("INSERT INTO nessie.shop.`orders@experiment` VALUES (7, 'Blaise', 70.0)",),
    ),
    Step(
        title="the branch abandoned, written to and dropped",
        before=lambda lake: lake.references.create_branch("abandoned"),
        statements=(
            "INSERT INTO nessie.shop.`orders@abandoned` VALUES (8, 'Carl', 80.0), (9, 'Ada', 90.0)",
            "DELETE FROM nessie.shop.`orders@abandoned` WHERE id = 1",
        ),
        after=lambda lake: lake.references.delete("abandoned"),
    ),
    Step(
        title="the table returns, written to and dropped",
        statements=(
            "CREATE TABLE nessie.shop.returns (id BIGINT) USING iceberg",
            "INSERT INTO nessie.shop.returns VALUES (1), (2)",
            "DROP TABLE nessie.shop.returns",
        ),
    ),
    Step(
        title="deletes: merge-on-read in orders, copy-on-write in customers",
        statements=(
            "DELETE FROM nessie.shop.orders WHERE id = 3",
            "DELETE FROM nessie.shop.customers WHERE name = 'Carl'",
        ),
    ),
    Step(
        title="an overwrite of orders",
        statements=("INSERT OVERWRITE nessie.shop.orders VALUES (10, 'Ada', 1.0), (11, 'Carl', 2.0), (12, 'Ada', 3)",),
    ),
    Step(
        title="customers renamed to clients",
        statements=("ALTER TABLE nessie.shop.customers RENAME TO nessie.shop.clients",),
    ),
    Step(
        title="more appends and a row delete",
        statements=(
            "INSERT INTO nessie.shop.clients VALUES ('Emmy', 'Erlangen')",
            "INSERT INTO nessie.shop.orders VALUES (13, 'Emmy', 4.0)",
            "DELETE FROM nessie.shop.orders WHERE id = 12",
        ),
    ),
    Step(
        title="leftovers of a write that failed",
        after=leave_failed_write,
    ),
)
"""The lake's life, in order."""


def write_lake(lake: Lake) -> None:
    """Writes the whole lake."""
    for step in STEPS:
        step.run(lake)
