"""Manifests that did not change are not read again, and a cache that is not whole is no reason to lose a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest
from nessie_gc_memory import put
from unit.services.assets.conftest import AssetLake

from nessie_gc_core.algorithms.expansion_cache import ADDED_LATER, CACHED_FILES
from nessie_gc_core.errors import TableError
from nessie_gc_core.services.assets.report import AssetsReport

CACHE = ("gc", "manifests")
Change = Callable[[dict[str, Any]], dict[str, Any] | None]


def identify(assets: AssetLake, **given: Any) -> AssetsReport:
    return assets.identify(**{"expansion_cache": "gc.manifests", **given})


def entries(assets: AssetLake) -> list[Mapping[str, Any]]:
    return assets.rows(table=CACHE)


def rewrite(assets: AssetLake, change: Change) -> None:
    """Changes the rows of the cache; those of which nothing is left go."""
    changed = [row for row in map(change, map(dict, entries(assets))) if row is not None]
    assets.catalog.drop(CACHE)
    assets.catalog.create(CACHE, CACHED_FILES, properties={})
    assets.catalog.append(CACHE, pa.Table.from_pylist(changed, CACHED_FILES).to_batches())


def test_the_second_run_reads_no_manifest_and_says_so(assets: AssetLake) -> None:
    first, second = identify(assets, default_cutoff="NONE"), identify(assets, default_cutoff="NONE")
    manifests = {row["parent"] for row in entries(assets)}
    assert len(manifests) > 1
    assert (0, len(manifests)) == (first.collection.files_cached, second.collection.files_cached)
    assert first.collection.files_expanded - second.collection.files_expanded == len(manifests)
    assert second.to_dict()["collection"]["files_cached"] == len(manifests)
    assert assets.names(runid=1) == assets.names(runid=2)


def test_only_what_is_new_is_read(assets: AssetLake) -> None:
    identify(assets, default_cutoff="NONE")
    known = {row["parent"] for row in entries(assets)}
    assets.state = assets.state.append("c.parquet")
    assets.lake.commit("main", put(assets.state.version))
    assert identify(assets, default_cutoff="NONE").collection.files_cached == len(known)
    assert len({row["parent"] for row in entries(assets)} - known) == 1


def test_the_same_is_found_with_and_without_it(assets: AssetLake) -> None:
    for number in range(3):
        with_cache, without = identify(assets, default_cutoff="2"), assets.identify(default_cutoff="2")
        assert assets.names(runid=with_cache.found.runid) == assets.names(runid=without.found.runid)
        assets.write(f"more{number}.parquet")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda row: None if row["path"].endswith("b.parquet") else row, id="a row is gone"),
        pytest.param(lambda row: {**row, "children": row["children"] + 1}, id="a row was not written"),
        pytest.param(lambda row: {**row, "parent_length": 5}, id="another length"),
        pytest.param(lambda row: {**row, "parent_announced": "2"}, id="something else was announced"),
        pytest.param(lambda row: {**row, "reader": "nessie-gc-memory 0.0.1"}, id="another version of the plugin"),
        pytest.param(lambda row: {**row, "path": row["path"].replace("b.p", "x.p")}, id="another file"),
        pytest.param(lambda row: {**row, "parent_kind": "MANIFEST_LIST"}, id="another kind"),
        pytest.param(lambda row: {**row, "content_type": "ICEBERG_VIEW"}, id="another type of content"),
    ],
)
def test_what_is_not_whole_is_read_again(assets: AssetLake, change: Change) -> None:
    for name in ("c.parquet", "d.parquet"):
        assets.state = assets.state.append(name)
        assets.lake.commit("main", put(assets.state.version))
    first = identify(assets)
    rewrite(assets, change)
    second = identify(assets)
    assert second.collection.files_cached < len({row["parent"] for row in entries(assets)})
    assert (first.found.assets, assets.names(runid=1)) == (second.found.assets, assets.names(runid=2))
    assert identify(assets).found.assets == first.found.assets


def test_s34_a_table_that_does_not_know_what_was_announced_is_read_again_and_kept(assets: AssetLake) -> None:
    first = identify(assets)
    without = pa.schema([field for field in CACHED_FILES if field.name not in ADDED_LATER])
    rows = pa.Table.from_pylist([dict(row) for row in entries(assets)], without)
    assets.catalog.drop(CACHE)
    assets.catalog.create(CACHE, without, properties={})
    assets.catalog.append(CACHE, rows.to_batches())
    second = identify(assets)
    assert (0, first.found.assets) == (second.collection.files_cached, second.found.assets)
    assert identify(assets).collection.files_cached > 0


def test_rows_that_two_runs_wrote_at_once_count_once(assets: AssetLake) -> None:
    identify(assets)
    twice = pa.Table.from_pylist([dict(row) for row in entries(assets)], CACHED_FILES)
    assets.catalog.append(CACHE, twice.to_batches())
    assert identify(assets).collection.files_cached == len({row["parent"] for row in entries(assets)})


def test_what_has_no_known_length_is_not_remembered(assets: AssetLake) -> None:
    lists = [path for path in assets.lake.paths() if "-snap-" in path]
    for path in lists:
        stored = assets.lake.objects.get(path)
        assert stored is not None
        content = json.loads(stored.data or b"")
        del content["lengths"]
        assets.lake.put(path, json.dumps(content).encode())
    identify(assets)
    assert entries(assets) == []
    assert identify(assets).collection.files_cached == 0


def test_what_names_nothing_is_remembered(assets: AssetLake) -> None:
    assets.state = assets.state.overwrite()
    assets.lake.commit("main", put(assets.state.version))
    identify(assets)
    paths = [row["path"] for row in entries(assets)]
    assert identify(assets).collection.files_cached == len({row["parent"] for row in entries(assets)})
    assert paths


def test_what_cannot_be_read_is_not_remembered(assets: AssetLake) -> None:
    identify(assets, dry_run=True)
    (manifest,) = (path for path in assets.state.needed if "manifest" in path and "list" not in path)
    content = assets.lake.objects.get(manifest)
    assert content is not None
    assets.lake.put(manifest, b"no manifest")
    assert identify(assets).collection.unreadable
    assert manifest not in {row["parent"] for row in entries(assets)}


def test_entries_of_files_that_are_gone_are_dropped(assets: AssetLake) -> None:
    identify(assets)
    first = {row["parent"] for row in entries(assets)}
    for number in range(3):
        assets.write(f"more{number}.parquet")
    identify(assets)
    assert not first & {row["parent"] for row in entries(assets)}


def test_a_dry_run_remembers_nothing(assets: AssetLake) -> None:
    identify(assets, dry_run=True)
    assert assets.catalog.state(CACHE) is None


def test_a_deletion_uses_it_too(assets: AssetLake) -> None:
    identify(assets)
    identify(assets)
    report = assets.delete(seen_count=2, expansion_cache="gc.manifests")
    assert report.collection.files_cached > 0
    assert report.failed == 0 < report.tried


def test_a_table_of_something_else_is_refused(assets: AssetLake) -> None:
    identify(assets)
    with pytest.raises(TableError, match="holds unreferenced-assets-runs, not expansion-cache"):
        identify(assets, expansion_cache="gc.assets_runs")
