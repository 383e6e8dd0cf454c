from __future__ import annotations

from pathlib import Path

import pytest
from dags import FOLDER, run_file
from lake import Lake

EXAMPLE = Path(__file__).parents[3] / "examples" / "airflow_dag.py"


def test_the_example_of_the_documentation_collects_a_lake(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_NESSIE", "http://:opensesame@nessie:19120")
    source = EXAMPLE.read_text(encoding="utf-8")
    assert "/etc/nessie-gc.toml" in source
    before = lake.files
    path = FOLDER / EXAMPLE.name
    path.write_text(source.replace("/etc/nessie-gc.toml", str(lake.config)))
    tasks = run_file(path)
    assert {"mark": "success", "sweep": "success"} == {name: ended.state for name, ended in tasks.items()}
    assert tasks["mark"].report["live_set_id"] == tasks["sweep"].report["live_set_id"]
    assert before - {lake.garbage} == lake.files
    assert "opensesame" not in "".join(ended.kept for ended in tasks.values())
