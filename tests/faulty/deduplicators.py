from __future__ import annotations

import threading
import time

import pytest

from faulty import fault
from nessie_gc_core.connectors import VisitedDeduplicator
from nessie_gc_core.model import Reach
from nessie_gc_core.testing.visited_deduplicator import VisitedDeduplicatorContract


class GoodDeduplicator(VisitedDeduplicator):
    """Remembers in a dictionary."""

    name = "good"

    def __init__(self, options):
        super().__init__(options)
        self.lock = threading.Lock()
        self.known: dict[bytes, Reach] = {}

    def should_walk(self, commit, reach):
        with self.lock:
            known = self.known.get(commit, Reach())
            if commit in self.known and known.covers(reach):
                return False
            self.known[commit] = known.merge(reach)
            return True

    def capacity(self):
        return 1_000_000


class DeduplicatorTests(VisitedDeduplicatorContract):
    connector: type[VisitedDeduplicator] = GoodDeduplicator

    @pytest.fixture
    def open_deduplicator(self):
        return lambda: self.connector.from_options({})


class TestGood(DeduplicatorTests):
    pass


WIDER = "test_a_reach_that_is_not_covered_has_to_be_walked"


@fault(DeduplicatorTests, "test_a_new_commit_has_to_be_walked", "S16: a commit that was not seen must be walked")
class WalksNothing(GoodDeduplicator):
    def should_walk(self, commit, reach):
        return False


@fault(DeduplicatorTests, "test_the_same_reach_again_is_covered", "The same reach again is covered")
class WalksEverything(GoodDeduplicator):
    def should_walk(self, commit, reach):
        return True


@fault(DeduplicatorTests, WIDER, "S16: a commit must be walked again with a reach that no earlier one covers")
class CommitsOnly(GoodDeduplicator):
    def should_walk(self, commit, reach):
        return super().should_walk(commit, Reach(everything=True))


@fault(
    DeduplicatorTests,
    "test_it_never_answers_no_where_nothing_recorded_covers",
    "S11 and S16: answer False only if a recorded reach of the same commit covers the given one",
)
class CollidingKeys(GoodDeduplicator):
    def should_walk(self, commit, reach):
        return super().should_walk(commit[:-1], reach)


@fault(
    DeduplicatorTests,
    "test_threads_that_ask_at_once_leave_no_commit_unwalked",
    "S16: asking and recording are one step",
)
class AsksAndRecordsApart(GoodDeduplicator):
    def should_walk(self, commit, reach):
        known = self.known.get(commit)
        time.sleep(0.0005)
        self.known[commit] = reach
        return known is None or not known.covers(reach)


@fault(
    DeduplicatorTests,
    "test_it_remembers_as_many_commits_as_it_says",
    "SupportsCapacity: it remembers as many commits as capacity() says",
)
class RemembersFewerThanItSays(GoodDeduplicator):
    def should_walk(self, commit, reach):
        return super().should_walk(commit, reach) or len(self.known) > 500


@fault(DeduplicatorTests, "test_closing_twice_does_no_harm", "A deduplicator can be closed twice")
class ClosesOnce(GoodDeduplicator):
    def close(self):
        self.known.clear()
        del self.known
