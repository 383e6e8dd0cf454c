from __future__ import annotations

import pytest

from nessie_gc_core.algorithms.visited import ExactVisited, NoneVisited
from nessie_gc_core.testing.visited_deduplicator import VisitedDeduplicatorContract


class TestExactVisited(VisitedDeduplicatorContract):
    @pytest.fixture
    def open_deduplicator(self):
        return lambda: ExactVisited.from_options({})


class TestExactVisitedThatIsFull(VisitedDeduplicatorContract):
    remembers = False

    @pytest.fixture
    def open_deduplicator(self):
        return lambda: ExactVisited.from_options({"capacity": 0})


class TestNoneVisited(VisitedDeduplicatorContract):
    remembers = False

    @pytest.fixture
    def open_deduplicator(self):
        return lambda: NoneVisited.from_options({})
