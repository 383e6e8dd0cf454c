"""Lost files: what is needed and not stored, with what breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from nessie_gc_memory import put
from unit.services.assets.conftest import AssetLake

from nessie_gc_core.algorithms.lost import needing_states
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, RepositoryError
from nessie_gc_core.model.lost_files import LOST_FILES
from nessie_gc_core.services.assets.report import AssetsReport

LOST = ("gc", "lost")


def lose(assets: AssetLake, name: str) -> str:
    """Takes a file away behind everybody's back."""
    (path,) = (path for path in assets.lake.paths() if path.endswith(f"/{name}"))
    assets.lake.objects.delete(path)
    return path


def identify(assets: AssetLake, **given: Any) -> tuple[AssetsReport, list[Mapping[str, Any]]]:
    report = assets.identify(**{"lost_table": "gc.lost", **given})
    return report, sorted(assets.rows(table=LOST), key=lambda row: str(row["reference"]))


def test_each_reference_whose_head_needs_a_lost_file_has_a_row(assets: AssetLake) -> None:
    (main,) = assets.services.repository.references()
    assets.lake.branch("dev", at=main.commit_id)
    assets.lake.branch("new")
    path = lose(assets, "b.parquet")
    report, rows = identify(assets)
    assert ["dev", "main"] == [row["reference"] for row in rows]
    row = rows[1]
    assert row["run"] == report.found.run
    assert (row["tableName"], row["assetType"], row["path"]) == ("db.t", "DATA_FILE", path)
    assert (row["name"], row["states"]) == ("b.parquet", 1)
    assert row["snapshotId"] == str(assets.state.version.snapshot_id)
    assert row["timestamp"] == assets.lake.time
    (file,) = report.collection.lost_files
    assert file.reason == "it is missing, and needed by db.t on dev, db.t on main"


def test_a_reference_that_does_not_answer_any_more_stops_nothing(
    assets: AssetLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    (main,) = assets.services.repository.references()
    lose(assets, "b.parquet")

    def needing(*arguments: Any) -> Dataset:
        assets.lake.faults.contents[str(main.commit_id)] = RepositoryError("the server forgot this commit")
        return needing_states(*arguments)

    monkeypatch.setattr("nessie_gc_core.services.assets.lost.needing_states", needing)
    report, (row,) = identify(assets)
    assert (row["reference"], row["name"]) == (None, "b.parquet")
    assert "cannot tell what breaks on main: the server forgot this commit" in report.collection.warnings


def test_a_file_that_only_older_live_states_need_breaks_no_head(assets: AssetLake) -> None:
    lose(assets, "a.parquet")
    report, (row,) = identify(assets, default_cutoff="10")
    assert (row["reference"], row["states"], row["name"]) == (None, 1, "a.parquet")
    assert row["lastCommit"]
    (file,) = report.collection.lost_files
    assert file.reason == "it is missing, and needed by db.t on its history"
    assert identify(assets)[0].collection.lost.files == 0  # no live state needs it any more


def test_all_states_that_reach_a_manifest_are_counted(assets: AssetLake) -> None:
    assets.state = assets.state.append("c.parquet")
    assets.lake.commit("main", put(assets.state.version))
    assets.state = assets.state.append("d.parquet")
    assets.lake.commit("main", put(assets.state.version))
    lose(assets, "b.parquet")
    _, rows = identify(assets, default_cutoff="10")
    assert [(None, 2), ("main", 1)] == [(row["reference"], row["states"]) for row in rows]


def test_each_table_that_needs_a_lost_file_has_a_row(assets: AssetLake) -> None:
    renamed = assets.state.renamed("db.other")
    assets.lake.commit("main", put(renamed.version))
    lose(assets, "b.parquet")
    _, rows = identify(assets)
    assert {"db.t", "db.other"} >= {row["tableName"] for row in rows}
    assert {"main"} == {row["reference"] for row in rows}


def test_every_run_adds_its_own_rows(assets: AssetLake) -> None:
    lose(assets, "b.parquet")
    first, _ = identify(assets)
    second, rows = identify(assets)
    assert {first.found.run, second.found.run} == {row["run"] for row in rows}


def test_where_nothing_is_lost_the_table_is_there_and_empty(assets: AssetLake) -> None:
    _, rows = identify(assets)
    state = assets.catalog.state(LOST)
    assert state is not None
    assert state.schema.equals(LOST_FILES, check_metadata=False)
    assert rows == []


def test_the_name_needs_a_namespace(assets: AssetLake) -> None:
    with pytest.raises(ConfigurationError, match="`lost_table` 'lost' is not of the form"):
        identify(assets, lost_table="lost")
