"""Both engines, for rules where an engine matters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from collected_scenes import CollectedScenes
from collecting import LakeServices, in_memory, spark_engine
from lakes_by_hand import LakeBeside, lake_at
from nessie_gc_memory import MemoryLake
from scenes import START

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.plugins import PluginRegistry

BOTH = ("local", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(params=BOTH)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """One after the other."""
    if request.param == "local":
        with LocalEngine(workers=2) as engine:
            yield engine
    else:
        yield spark_engine(request.getfixturevalue("spark"))


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """A lake in memory; its clock stands."""
    with lake_at(START) as lake:
        yield lake


@pytest.fixture
def services(lake: MemoryLake) -> Iterator[LakeServices]:
    """What collects the lake in memory, on the local engine."""
    with in_memory(lake) as services:
        yield services


@pytest.fixture
def beside(lake: MemoryLake) -> MemoryLake:
    """A second lake, with a history of its own over the same objects."""
    return LakeBeside(lake)


@pytest.fixture
def together(services: LakeServices, beside: MemoryLake) -> LakeServices:
    """What collects both in one run."""
    return services.together_with(beside)


@pytest.fixture
def plugins() -> PluginRegistry:
    """A registry of the test's own, with all that is installed: what it registers, nobody else has."""
    return PluginRegistry.discover()


@pytest.fixture
def collected(engine: Engine, request: pytest.FixtureRequest) -> CollectedScenes:
    """All scenes after a run of the engine."""
    run = "collected_locally" if engine.name == "local" else "collected_by_spark"
    return request.getfixturevalue(run)
