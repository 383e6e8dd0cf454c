"""Whole lakes with odd spellings, links and names: nothing live is lost (S1 to S4, S9, S24).

Each lake has its seed: 150 in every run, 10,000 in ``nox -s thorough``; ODD_LAKES says how many otherwise.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from collecting import spark_engine
from nessie_gc_memory import MemoryLake
from odd_lakes import DiskLake, StoreLake
from thoroughness import THOROUGH

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LAKES = int(os.environ.get("ODD_LAKES", "10000" if THOROUGH else "150"))
GROUP = 25
"""Lakes of one test, which share an engine; a failure names its seed."""
FIRST = int(os.environ.get("FIRST_ODD_LAKE", "0"))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with LocalEngine(workers=2) as engine:
        yield engine


def odd_lake(seed: int, folder: Path) -> StoreLake | DiskLake:
    kind = seed % 3
    if kind == 0:
        return StoreLake(seed, keeps_spellings=seed % 2 == 0)
    return DiskLake(seed, folder=folder)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("group", range(FIRST, FIRST + LAKES, GROUP))
def test_nothing_live_is_lost_in_an_odd_lake(group: int, engine: Engine, tmp_path: Path) -> None:
    wrong: dict[str, list[str]] = {}
    for seed in range(group, min(group + GROUP, FIRST + LAKES)):
        folder = tmp_path.resolve() / str(seed)
        folder.mkdir()
        lake = odd_lake(seed, folder)
        if found := list(lake.run(engine)):
            wrong[f"seed {seed}"] = found
        shutil.rmtree(folder)
        MemoryLake.forget(lake.lake.name)
    assert {} == wrong


@pytest.mark.spark
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_live_is_lost_in_an_odd_lake_on_spark(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    lake = odd_lake(seed, tmp_path.resolve())
    assert [] == list(lake.run(spark_engine(spark)))
    MemoryLake.forget(lake.lake.name)
