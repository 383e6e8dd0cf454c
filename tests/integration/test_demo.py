from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nessie_gc_core.demo.collector import LIVE_COMMITS
from nessie_gc_core.demo.lake import Lake, table_folder
from nessie_gc_core.demo.spark import check_requirements
from nessie_gc_core.demo.verify import differences, live_states, read_state
from nessie_gc_core.testing.servers import skip_or_fail

pytestmark = [pytest.mark.server, pytest.mark.spark]


def test_the_demo_moves_garbage_to_a_quarantine_and_every_state_reads_as_before_when_it_is_back(tmp_path: Path) -> None:
    with skip_or_fail():
        check_requirements()
    command = [sys.executable, "-m", "nessie_gc_core", "demo", "--engine", "local", "--quarantine", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr
    result = json.loads(done.stdout)
    assert [] == result["problems"]
    assert 0 < result["first"]["quarantined"]["files"] <= result["restored"]["restored"]["files"]
    assert 1 == result["second"]["unreferenced"]["files"]  # the metadata that alone shows the dropped table goes last
    assert {"customers": True, "orders": True, "returns": True, "revenue": False} == {
        count["name"]: count["after"] < count["before"] for count in result["folders"]
    }


def test_the_proof_fails_when_a_live_file_is_gone(written_lake: Lake) -> None:
    states = live_states(written_lake, commits=LIVE_COMMITS)
    state = next(state for state in states if (state.reference, state.key) == ("main", "shop.orders"))
    before = {state: read_state(written_lake, state)}
    live = next(table_folder(written_lake.warehouse, "orders").glob("data/customer=Emmy/*.parquet"))
    hidden = live.rename(live.with_suffix(".hidden"))
    try:
        found = list(differences(before, {state: read_state(written_lake, state)}))
    finally:
        hidden.rename(live)
    assert 1 == len(found)
    assert found[0].startswith(f"{state}: cannot be read any more: java.io.FileNotFoundException: File file:{live}")
    assert [] == list(differences(before, {state: read_state(written_lake, state)}))
