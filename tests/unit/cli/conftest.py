from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cli_runs import Run
from click.testing import CliRunner, Result
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.cli.main import cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a data folder of its own, and none of the user's settings."""
    for name in [name for name in os.environ if name.startswith("NESSIE_GC_") and name != "NESSIE_GC_REQUIRE_SERVERS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run() -> Run:
    """Runs the program in this process."""

    def invoke(*arguments: str | Path, env: dict[str, str] | None = None) -> Result:
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], env=env)

    return invoke


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """The lake that the memory connectors use where no other is named: three commits, one orphan."""
    MemoryLake.forget("default")
    lake = MemoryLake.named("default")
    lake.now = datetime(2026, 1, 1, tzinfo=UTC)
    empty = lake.table("db.t", location="memory://warehouse/db/t")
    first = empty.append("a.parquet")
    lake.commit("main", put(empty.version))
    lake.commit("main", put(first.version))
    lake.commit("main", put(first.overwrite("b.parquet").version))
    lake.put("memory://warehouse/db/t/data/orphan.parquet")
    lake.now = None
    yield lake
    MemoryLake.forget("default")
