"""An account with the rights that the how-to names can expire snapshots on Nessie; one that may only read can not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from branch_lakes import BranchLake

from nessie_gc_core.demo.spark import use_catalog
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.testing.servers import NessieServer, running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.server, pytest.mark.spark]
READ = "op in ['VIEW_REFERENCE', 'LIST_COMMIT_LOG', 'READ_ENTRIES', 'READ_CONTENT_KEY', 'READ_ENTITY_VALUE']"
COMMIT = "op == 'COMMIT_CHANGE_AGAINST_REFERENCE' && ref == 'main'"
UPDATE = "op == 'UPDATE_ENTITY' && path.startsWith('db.')"
KEY = "db.orders"
Opened = Callable[..., AbstractContextManager[BranchLake]]


def stored_in(folder: Path) -> Mapping[str, str]:
    return {
        "nessie.version.store.type": "ROCKSDB",
        "nessie.version.store.persist.rocks.database-path": str(folder),
    }


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a server keeps of a table with three snapshots."""
    folder = tmp_path_factory.mktemp("rights")
    with running(lambda: NessieServer(properties=stored_in(folder / "store"))) as server:
        use_catalog(spark, server.uri, folder / "warehouse", name="rights")
        spark.sql("CREATE NAMESPACE rights.db")
        spark.sql(f"CREATE TABLE rights.{KEY} (id BIGINT) USING iceberg")
        for number in range(3):
            spark.sql(f"INSERT OVERWRITE rights.{KEY} VALUES ({number})")
    return folder / "store"


@pytest.fixture
def with_rights(written: Path, tmp_path: Path) -> Opened:
    """The lake, on a server that allows nothing but what the rules say."""

    @contextmanager
    def opened(*rules: str) -> Iterator[BranchLake]:
        checks = {f"nessie.server.authorization.rules.r{at}": rule for at, rule in enumerate(rules)}
        copied = shutil.copytree(written, tmp_path / "store")
        properties = {**stored_in(copied), "nessie.server.authorization.enabled": "true", **checks}
        with (
            running(lambda: NessieServer(properties=properties)) as server,
            LocalEngine(workers=2) as engine,
            closing(BranchLake(server.uri, engine)) as lake,
        ):
            yield lake

    return opened


def metadata_files(lake: BranchLake) -> set[Path]:
    return set(lake.metadata_file(KEY).parent.glob("*.metadata.json"))


def test_who_may_only_read_collects_and_commits_nothing(with_rights: Opened) -> None:
    with with_rights(READ) as lake:
        before, stored = lake.content(KEY), metadata_files(lake)
        (table,) = lake.expire(KEY).tables
        assert (Committed.REFUSED, before) == (table.outcome, lake.content(KEY))
        assert stored <= metadata_files(lake)
        assert "not allowed" in str(table.reason)
        assert 0 == lake.services.collect("1").exit_code


def test_who_has_the_rights_of_the_how_to_expires_and_needs_no_other(with_rights: Opened) -> None:
    how_to = (Path(__file__).parents[2] / "docs/how-to/expire-snapshots.md").read_text()
    with with_rights(READ, COMMIT, UPDATE) as lake:
        (table,) = lake.expire(KEY).tables
        assert (Committed.EXPIRED, 2, 1) == (table.outcome, table.expired, len(lake.listed(KEY)))
    for right in (*READ.split("'")[1::2], COMMIT.split("'")[1], UPDATE.split("'")[1]):
        assert f"`{right}`" in how_to
