"""Both engines, for rules where an engine matters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from collected_scenes import CollectedScenes
from collecting import spark_engine
from lakes_in_memory import beside, lake, services, together  # noqa: F401 - fixtures

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
def plugins() -> PluginRegistry:
    """A registry of the test's own, with all that is installed: what it registers, nobody else has."""
    return PluginRegistry.discover()


@pytest.fixture
def collected(engine: Engine, request: pytest.FixtureRequest) -> CollectedScenes:
    """All scenes after a run of the engine."""
    run = "collected_locally" if engine.name == "local" else "collected_by_spark"
    return request.getfixturevalue(run)
