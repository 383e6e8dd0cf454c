from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.relations import OUTCOMES, UNKNOWN_TIME
from nessie_gc_core.services.outcomes import OutcomeFile

ROW = ("s3://b/t/", "s3a://b/t/", "data/ü\n.parquet", 7, 1_000_001, False, "failed", "denied")
OTHER = ("s3://b/t/", "s3a://b/t/", "x", 0, UNKNOWN_TIME, False, "too_young", None)


@pytest.fixture
def outcomes() -> Iterator[Dataset]:
    with LocalEngine(workers=1) as engine:
        yield engine.dataset(to_batches([ROW, OTHER], OUTCOMES), OUTCOMES)


def test_every_outcome_is_a_line(outcomes: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    with OutcomeFile(str(path)) as file:
        file.write(outcomes)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    assert {"data/ü\n.parquet": "1970-01-01T00:00:01.000001+00:00", "x": None} == {
        line["path"]: line["modified"] for line in lines
    }


def test_every_outcome_is_a_row(outcomes: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.parquet"
    with OutcomeFile(str(path)) as file:
        file.write(outcomes)
        file.write(outcomes)
    table = parquet.read_table(path)
    assert OUTCOMES.names == table.schema.names
    assert [ROW, ROW] == [tuple(row.values()) for row in table.to_pylist() if row["outcome"] == "failed"]


def test_a_file_that_cannot_be_written_is_refused_before_anything_happens(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot write --outcomes-to"):
        OutcomeFile(str(tmp_path / "nowhere" / "x.jsonl"))


def test_without_a_file_nothing_is_written(outcomes: Dataset) -> None:
    with OutcomeFile(None) as file:
        file.write(outcomes)
