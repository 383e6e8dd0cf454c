"""The benchmark of computed lakes, on a small size."""

from __future__ import annotations

import pytest
from benchmark import computed
from benchmark.measuring import Measured
from nessie_gc_memory.mock import MockOracle


def test_a_computed_lake_is_identified_and_shown_with_its_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == computed.main(["--files", "400", "--tables", "2", "--engine", "local"])
    counts = MockOracle(computed.lake_of(400, 2), "1").counts()
    (row,) = (line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if "local" in line)
    assert ["local", f"{counts.stored:,}", f"{counts.garbage:,}"] == [cell.strip() for cell in row[:3]]
    assert all(float(cell.replace(",", "")) > 0 for cell in (row[3], row[4], row[5], row[8]))


def test_a_run_that_found_other_files_than_the_oracle_is_an_error() -> None:
    counts = MockOracle(computed.lake_of(400, 2), "1").counts()
    run = computed.ComputedRun(engine="local", counts=counts, garbage=counts.garbage + 1, measured=Measured())
    assert not run.is_right
