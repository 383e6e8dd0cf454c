from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli_runs import Run, go_home
from click.testing import CliRunner, Result
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.cli.main import cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a data folder of its own, and none of the user's settings."""
    return go_home(tmp_path, monkeypatch)


@pytest.fixture
def run() -> Run:
    """Runs the program in this process."""

    def invoke(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], env=env)

    return invoke


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """The lake that the memory connectors use where no other is named: three commits, one orphan."""
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC), "default") as lake:
        empty = lake.table("db.t", location="memory://warehouse/db/t")
        first = empty.append("a.parquet")
        lake.commit("main", put(empty.version))
        lake.commit("main", put(first.version))
        lake.commit("main", put(first.overwrite("b.parquet").version))
        lake.put("memory://warehouse/db/t/data/orphan.parquet")
        lake.now = None
        yield lake
