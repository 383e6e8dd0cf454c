"""S3: a bucket is one place with and without credentials and port; S28: the credentials in a path are never shown."""

from __future__ import annotations

import json
import logging
from datetime import timedelta

import pytest
from collecting import LakeServices
from lakes_by_hand import respell
from nessie_gc_memory import MEMORY_TABLE, MemoryLake, TableState, content, put

from nessie_gc_core.algorithms.parents import _ParentsOf
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.relations import EXPANDED_FILES
from nessie_gc_core.services.parameters import SweepParameters

SAME = {
    "user and password": "memory://KEYID:qzxSECRET@wh/",
    "a user": "memory://KEYID@wh/",
    "the default port": "memory://wh:443/",
    "all of them": "memory://KEYID:qzxSECRET@wh:443/",
}
NOWHERE = {
    "another port": "memory://wh:9000/",
    "a host instead of a bucket": "memory://arn:aws:s3:eu-west-1:1:accesspoint/",
    "a password with a slash": "memory://KEYID:qzx/SECRET@wh/",
    "no bucket": "memory://KEYID:qzxSECRET@/wh/",
}


@pytest.fixture
def buckets(services: LakeServices) -> LakeServices:
    """What collects the lake; its scheme is one of buckets."""
    return services.choosing(scheme_aliases={"memory": "s3"})


@pytest.fixture
def table(lake: MemoryLake) -> TableState:
    """A table, beside another one; each of them has a dead file."""
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    other = lake.table("db.u", location="memory://wh/db/u").append("b.parquet")
    lake.commit("main", put(table.version), put(other.version))
    for name in ("t", "u"):
        lake.put(f"memory://wh/db/{name}/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    return table


def spell(lake: MemoryLake, table: TableState, begin: str) -> None:
    """Names the data files of a table by another beginning."""
    for manifest in table.manifests[1]:
        respell(lake, manifest, lambda path: path.replace("memory://wh/", begin))


@pytest.mark.parametrize("begin", SAME.values(), ids=list(SAME))
def test_s03_a_file_is_live_whatever_credentials_and_port_its_path_has(
    lake: MemoryLake, buckets: LakeServices, table: TableState, begin: str
) -> None:
    spell(lake, table, begin)
    report = buckets.collect()
    assert table.needed <= lake.paths()
    assert (0, {}, 0) == (report.lost.files, report.unknown, report.exit_code)
    assert not {path for path in lake.paths() if path.endswith("nobody.parquet")}


@pytest.mark.parametrize("begin", NOWHERE.values(), ids=list(NOWHERE))
def test_s03_a_path_whose_bucket_is_not_clear_freezes_its_table_and_no_other(
    lake: MemoryLake, buckets: LakeServices, table: TableState, begin: str
) -> None:
    spell(lake, table, begin)
    report = buckets.collect()
    assert table.needed <= lake.paths()
    assert (["s3://wh/db/t/"], 1) == (list(report.unknown), report.exit_code)
    assert "memory://wh/db/u/data/nobody.parquet" not in lake.paths()


@pytest.mark.parametrize("begin", {**SAME, **NOWHERE}.values(), ids=[*SAME, *NOWHERE])
def test_s28_credentials_in_paths_reach_no_report_and_no_log(
    lake: MemoryLake, buckets: LakeServices, table: TableState, caplog: pytest.LogCaptureFixture, begin: str
) -> None:
    caplog.set_level(logging.DEBUG)
    spell(lake, table, begin)
    lake.objects.delete("memory://wh/db/t/data/a.parquet")
    report = buckets.collect(sweep=SweepParameters(by_table=True))
    assert "qzx" not in json.dumps(report.to_dict()) + caplog.text


def test_s28_credentials_in_the_place_of_a_table_are_not_stored(lake: MemoryLake, buckets: LakeServices) -> None:
    place = "memory://KEYID:qzxSECRET@wh/db/gone"
    version = content(
        "db.gone", content_type=MEMORY_TABLE, metadata_location=f"{place}/metadata/1.metadata.json", location=place
    )
    lake.commit("main", put(version))
    live_set = buckets.mark()
    report = buckets.sweep(live_set)
    stored = [repr(version) for version in buckets.store.content_versions(live_set)]
    assert (1, []) == (len(stored), [text for text in [*stored, json.dumps(report.to_dict())] if "qzx" in text])


def test_s28_the_parents_of_a_file_are_found_without_its_credentials(lake: MemoryLake, table: TableState) -> None:
    """Otherwise nobody would know which tables to freeze for it."""
    spell(lake, table, "memory://KEYID:qzxSECRET@wh/")
    choice = ConnectorChoice(options={("content-to-files", "memory"): {"lake": lake.name}})
    (manifest,) = table.manifests[1]
    files = to_batches([(manifest, "MANIFEST", MEMORY_TABLE, *[None] * 5)], EXPANDED_FILES)
    found = _ParentsOf(choice, ["memory://KEYID@wh/db/t/data/a.parquet"])(files)
    assert [manifest] == [parent for batch in found for parent in batch.column("parent").to_pylist()]
