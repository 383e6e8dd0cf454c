"""The ten lines that a notebook needs, on a lake on a disk, on both engines and on Spark Connect."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core import Collector
from nessie_gc_core.engines.local.frame import LocalFrame
from nessie_gc_core.model import Outcome

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSIONS = (
    None,
    pytest.param("spark", marks=pytest.mark.spark),
    pytest.param("connect", marks=(pytest.mark.spark, pytest.mark.server)),
)


@pytest.fixture(params=SESSIONS, ids=lambda name: name or "local")
def session(request: pytest.FixtureRequest) -> SparkSession | None:
    """None for the local engine, a classic session, one of Spark Connect; made by somebody else."""
    return None if request.param is None else request.getfixturevalue(request.param)


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[Path]]:
    """Files that nobody needs, in a lake whose configuration lies in the working directory."""
    lake = MemoryLake(f"ten-lines-{uuid.uuid4()}")
    lake.now = datetime(2026, 1, 1, tzinfo=UTC)
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    lake.commit("main", put(table.version))
    for number in range(5):
        lake.put(f"memory://wh/db/t/data/dead {number}.parquet")
    folder = tmp_path.resolve() / "a" / "lake"
    history = lake.write_to(folder)
    (tmp_path / "nessie-gc.toml").write_text(
        f'jdbc-url = "sqlite:///{tmp_path}/live-sets.db"\n[repository]\nname = "memory"\nhistory_file = "{history}"\n'
    )
    monkeypatch.chdir(tmp_path)
    yield {folder / path.removeprefix("memory://") for path in lake.paths() - table.needed}
    MemoryLake.forget(lake.name)


def test_the_ten_lines_show_what_would_go_and_delete_just_that(
    session: SparkSession | None, lake: set[Path], tmp_path: Path
) -> None:
    if session is None:
        gc = Collector.from_toml("nessie-gc.toml", engine="local")
    else:
        gc = Collector.from_toml("nessie-gc.toml", spark=session)
    gc.check()
    allow = [f"file://{tmp_path.resolve()}/a/lake/wh/"]
    plan = gc.plan(default_cutoff="P30D", cutoffs={"main": "1"}, allow=allow, min_age="P2D")
    assert all(path.is_file() for path in lake)
    assert len(lake) > 5
    files = plan.files
    if isinstance(files, LocalFrame):
        shown = files.sql("SELECT outcome, count(*) AS files FROM files GROUP BY ALL").to_arrow().to_pylist()
    else:
        shown = [row.asDict() for row in files.groupBy("outcome").count().collect()]
    assert [{"would_delete", len(lake)}] == [set(row.values()) for row in shown]
    result = plan.apply(outcomes_to="audit.parquet")
    result.raise_for_status()
    gc.close()
    assert len(lake) == result.outcomes[Outcome.DELETED].files
    assert not any(path.exists() for path in lake)
    assert (tmp_path / "audit.parquet").exists()
    if session is not None:
        assert 3 == session.range(3).count(), "a session of somebody else stays open"
