"""Schedules under random clocks, crashes and failures: no run is lost, and none is doubled.

A run whose scheduler is lost begins again, whatever it had done: work is done at least once, and completed once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from nessie_gc_memory import MemoryScheduleStore
from thoroughness import examples

from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import JobDefinition, ScheduleDefinition
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.scheduler import Scheduler

BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
LEASE = timedelta(minutes=2)
TABLE = {
    "lease": "PT2M",
    "jobs": {
        "hourly": {"service": "gc", "every": "PT1H"},
        "tried": {"service": "gc", "every": "PT3H", "retries": 1, "retry-after": "PT10M"},
    },
}


class Crash(BaseException):
    """Ends a scheduler in the middle."""


@dataclass
class Work:
    outcome: Outcome

    def wait(self, seconds: float) -> Outcome:
        return self.outcome

    def beat(self, renewed: float) -> None:
        """Ends at once anyway."""

    def stop(self, *, kill: bool) -> None:
        raise AssertionError("nothing is to be stopped")


@dataclass
class World:
    """One store, one clock, and what was run."""

    now: datetime = BEGIN
    ends: list[str] = field(default_factory=list)
    """How the next runs end: ``crash before``, ``crash after``, ``fail``; then all succeed."""
    succeeded: list[tuple[str, datetime]] = field(default_factory=list)
    unknown: set[tuple[str, datetime]] = field(default_factory=set)
    """What was done, and nobody knows."""

    def __post_init__(self) -> None:
        self.store = MemoryScheduleStore.from_options({})
        self.store.clock = self.clock

    def clock(self) -> datetime:
        return self.now

    def start(self, job: JobDefinition, run: JobRun, leased: float) -> Work:
        end = self.ends.pop() if self.ends else ""
        if end == "crash before":
            raise Crash
        if end == "fail":
            return Work(Outcome(exit_code=1, report="{}"))
        if end == "crash after":
            self.unknown.add((job.name, run.occasion.due))
            raise Crash
        self.succeeded.append((job.name, run.occasion.due))
        return Work(Outcome(exit_code=0, report="{}"))

    def scheduler(self) -> Scheduler:
        definition = ScheduleDefinition.read(ConfigFile(name="x.toml", schedule=TABLE), JobDigests(installed()))
        return Scheduler(definition=definition, store=self.store, runner=self, clock=self.clock)

    def look(self) -> None:
        """A scheduler looks for what is due, and may crash."""
        try:
            self.scheduler().run_due()
        except Crash:
            return


steps = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1, 400)),
        st.tuples(st.just("back"), st.integers(1, 90)),
        st.tuples(st.just("end"), st.sampled_from(["crash before", "crash after", "fail"])),
        st.tuples(st.just("look"), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=examples(40), deadline=None)
@given(steps)
def test_no_run_is_lost_and_none_is_doubled(steps: list[tuple[str, int | str]]) -> None:
    world = World()
    world.scheduler().define()
    for what, value in steps:
        if what == "end":
            world.ends.append(str(value))
        elif what == "look":
            world.look()
        else:
            world.now += timedelta(minutes=int(value)) * (1 if what == "pass" else -1)
    world.ends.clear()
    world.now = max(world.now, BEGIN + timedelta(days=8))  # later than any clock was
    for _ in range(4):
        world.now += LEASE + timedelta(minutes=10)
        world.look()
    assert [] == [due for due, count in Counter(world.succeeded).items() if count > 1]
    runs = [*world.store.runs("default")]
    assert RunStatus.RUNNING not in {run.status for run in runs}
    interrupted = {(run.job, run.occasion.due) for run in runs if run.status is RunStatus.INTERRUPTED}
    assert world.unknown <= interrupted
    for job in world.store.jobs("default"):
        assert job.next is not None
        assert job.next.starts > world.now
        assert RunStatus.SUCCEEDED is next(run.status for run in runs if run.job == job.name)
