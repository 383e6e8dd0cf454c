"""Fixtures: a lake in memory, a second one over the same objects, and what collects them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from collecting import LakeServices, in_memory
from lakes_by_hand import LakeBeside, lake_at
from nessie_gc_memory import MemoryLake
from scenes import START


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
