"""The collector's whole command line on lakes that Spark wrote, against what Spark says that live states need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from spark_lakes import spark_files

from nessie_gc_core.demo.collector import LIVE_COMMITS, collect
from nessie_gc_core.demo.lake import DROPPED_TABLE, Lake
from nessie_gc_core.demo.verify import State, live_states
from nessie_gc_core.testing.servers import NessieServer

pytestmark = [pytest.mark.server, pytest.mark.spark]


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_dry_run_names_exactly_the_files_that_no_live_state_needs(
    written_lake: Lake, nessie: NessieServer, tmp_path: Path, engine: str
) -> None:
    names = tmp_path / "outcomes.jsonl"
    run = collect(nessie.uri, engine=engine, folder=tmp_path, more=["--dry-run", "--outcomes-to", str(names)])
    assert (0, []) == (run.exit_code, run.report["unknown"]), run.complaints
    outcomes = [json.loads(line) for line in names.read_text().splitlines()]
    actual = {local(row["location"] + row["path"]) for row in outcomes if not row["sidecar"]}
    expected = unneeded(written_lake)
    assert len(expected) > 40
    assert expected == actual
    spared = [row for row in outcomes if row["outcome"] == "spared" and not row["sidecar"]]
    (alone,) = spared  # the next run deletes it
    assert "it alone shows where a dropped table is" in alone["reason"]
    assert f"/{DROPPED_TABLE}_" in alone["location"]
    assert len(expected) == run.count("would_delete") + 1


def unneeded(lake: Lake) -> set[str]:
    """Everything in the folders of live states and of the dropped table, less what Spark lists for those states."""
    states = list({state.metadata_location: state for state in live_states(lake, commits=LIVE_COMMITS)}.values())
    needed = {local(path) for state in states for path in spark_files(lake, state)}
    folders = {folder_of(state) for state in states} | set(lake.warehouse.glob(f"shop/{DROPPED_TABLE}_*"))
    stored = {str(path) for folder in folders for path in folder.rglob("*") if path.is_file()}
    return {path for path in stored - needed if not path.endswith(".crc")}


def folder_of(state: State) -> Path:
    return Path(local(state.metadata_location)).parent.parent


def local(path: str) -> str:
    return "/" + path.removeprefix("file:").lstrip("/")
