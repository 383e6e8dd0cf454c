"""Both engines, for rules where an engine matters."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from collected_scenes import Merged, collected
from collecting import Collector, in_memory, spark_engine
from nessie_gc_memory import MemoryLake
from scenes import START

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.plugins import installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOTH = ("local", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(params=BOTH)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """One after the other."""
    if request.param == "local":
        with LocalEngine(workers=2) as engine:
            yield engine
    else:
        session: SparkSession = request.getfixturevalue("spark")
        yield spark_engine(session)


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """A lake in memory; its clock stands."""
    lake = MemoryLake.named(f"safety-{uuid.uuid4()}")
    lake.now = START
    yield lake
    MemoryLake.forget(lake.name)


@pytest.fixture
def collector(lake: MemoryLake) -> Iterator[Collector]:
    """A collector of the lake in memory, on the local engine."""
    collector = in_memory(lake)
    with collector.engine:
        yield collector


@pytest.fixture
def register() -> Iterator[Callable[[object], None]]:
    """Installs plugins in this process, until the test is over."""
    registry, names = installed(), []

    def install(plugin: object) -> None:
        names.append(f"test-plugin-{uuid.uuid4()}")
        registry.register(plugin, name=names[-1])

    yield install
    for name in names:
        registry.unregister(name)


@pytest.fixture
def merged(engine: Engine) -> Merged:
    """All scenes after a run of the engine."""
    return collected(engine)
