"""A schedule in memory, a clock set by hand, runs that end as they are told, and a server that is told of them."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from nessie_gc_memory import MemoryScheduleStore
from prometheus_client.parser import text_string_to_metric_families

from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.model.schedule import JobRun, ScheduledJob
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.conduct import Patience
from nessie_gc_core.services.schedule.definition import JobDefinition, ScheduleDefinition
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.scheduler import Scheduler
from nessie_gc_core.services.schedule.telling import webhook
from nessie_gc_core.services.schedule.telling.listeners import Listeners
from nessie_gc_core.services.schedule.telling.settings import listeners_of

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
"""A Monday."""
HOUR = timedelta(hours=1)


@dataclass
class Clock:
    now: datetime = MIDNIGHT

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass
class FakeWork:
    """A run that ends at once, or when it is stopped."""

    outcome: Outcome | None
    stops: list[bool] = field(default_factory=list)
    ignores_requests: bool = False
    beats: list[float] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float) -> Outcome | None:
        if self.outcome is None and self.stopped.wait(min(seconds, 0.01)):
            return Outcome(exit_code=-9 if self.stops[-1] else 143)
        return self.outcome

    def beat(self, renewed: float) -> None:
        self.beats.append(renewed)

    def stop(self, *, kill: bool) -> None:
        self.stops.append(kill)
        if kill or not self.ignores_requests:
            self.stopped.set()


@dataclass
class FakeRunner:
    """Says of each run what it ends with; counts those of each job that go on at the same time."""

    outcomes: dict[str, list[Outcome | None]] = field(default_factory=dict)
    """Of each job, in their order; when they are over, all succeed. ``None``: it goes on until it is stopped."""
    started: list[tuple[str, datetime]] = field(default_factory=list)
    works: list[FakeWork] = field(default_factory=list)
    ignores_requests: bool = False
    on_start: Callable[[], None] = lambda: None

    def start(self, job: JobDefinition, run: JobRun, leased: float) -> FakeWork:
        self.started.append((job.name, run.occasion.due))
        self.on_start()
        mine = self.outcomes.get(job.name, [])
        outcome = mine.pop(0) if mine else Outcome(exit_code=0, report="{}")
        self.works.append(FakeWork(outcome, ignores_requests=self.ignores_requests))
        return self.works[-1]

    def dues(self, job: str = "nightly") -> list[datetime]:
        return [due for name, due in self.started if name == job]


FAILED = Outcome(exit_code=1, report='{"error": "it failed"}')


@dataclass
class Bench:
    """Everything that a test of schedules needs."""

    store: MemoryScheduleStore
    clock: Clock = field(default_factory=Clock)
    runner: FakeRunner = field(default_factory=FakeRunner)
    told: queue.Queue[JobRun] = field(default_factory=queue.Queue)

    def scheduler(
        self, jobs: Mapping[str, Mapping[str, Any]], *, top: Mapping[str, Any] | None = None, **settings: Any
    ) -> Scheduler:
        table = {**settings, "jobs": {name: {"service": "gc", **job} for name, job in jobs.items()}}
        file = ConfigFile(name="x.toml", schedule=table, options=top or {})
        return Scheduler(
            definition=ScheduleDefinition.read(file, JobDigests(installed())),
            store=self.store,
            runner=self.runner,
            clock=self.clock,
            patience=Patience(stop=10, store=10, last=1, pause=0.01),
            listeners=Listeners([self]),
        )

    # ---- as a listener ----------------------------------------------------------------------------------
    name = "the bench"

    def part_of(self, run: JobRun) -> None:
        """Needs no report."""

    def started(self, run: JobRun) -> None:
        """Is in the runner already."""

    def ended(self, run: JobRun) -> None:
        self.told.put(run)

    def close(self) -> None:
        """Nothing is open."""

    def heard(self, count: int) -> list[JobRun]:
        """The next runs of which it is told."""
        return [self.told.get(timeout=10) for _ in range(count)]

    def job(self, name: str = "nightly") -> ScheduledJob:
        (found,) = (job for job in self.store.jobs("default") if job.name == name)
        return found

    def runs(self) -> list[JobRun]:
        """Earliest first."""
        return [*self.store.runs("default")][::-1]


@pytest.fixture
def bench() -> Bench:
    return Bench(MemoryScheduleStore.from_options({}))


# ---- who is told ----------------------------------------------------------------------------------------
DAILY = {"nightly": {"cron": "@daily"}}


Series = tuple[str, frozenset[tuple[str, str]]]
"""A name and labels."""


@dataclass
class Receiver:
    """An HTTP server on loopback that keeps what it is sent."""

    address: str = ""
    status: int = 200
    bodies: list[tuple[str, bytes]] = field(default_factory=list)
    hangs: threading.Event = field(default_factory=threading.Event)
    """It answers nothing as long as this is set."""
    go_on: threading.Event = field(default_factory=threading.Event)
    pushed: dict[Series, float] = field(default_factory=dict)
    """What it has as a Pushgateway, by name and labels."""

    def push(self, method: str, path: str, text: str) -> int:
        """Takes metrics as a Pushgateway does.

        The labels of the path count, and no series may come twice. ``PUT`` replaces all, and ``POST`` those of a name.
        """
        parts = path.removeprefix("/metrics/").split("/")
        group = dict(zip(parts[::2], parts[1::2], strict=True))
        pushed = dict[Series, float]()
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                series = sample.name, frozenset({**sample.labels, **group}.items())
                if series in pushed:
                    return 400
                pushed[series] = sample.value
        names = {name for name, _ in pushed}
        kept = {} if method == "PUT" else {each: it for each, it in self.pushed.items() if each[0] not in names}
        self.pushed = kept | pushed
        return self.status


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if found.hangs.is_set():
                found.go_on.wait(30)
            found.bodies.append((self.path, body))
            is_pushed = self.path.startswith("/metrics/")
            self.send_response(found.push(self.command, self.path, body.decode()) if is_pushed else found.status)
            self.send_header("Location", f"{found.address}/login")
            self.end_headers()

        def do_PUT(self) -> None:
            self.do_POST()

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    monkeypatch.setattr(webhook, "_PAUSES_SECONDS", (0, 0, 0))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        found.address = f"http://127.0.0.1:{server.server_port}"
        yield found
        found.go_on.set()
        server.shutdown()
        thread.join()


def run_with(bench: Bench, *outcomes: Outcome, once: bool = False, job: Any = None, **settings: Any) -> None:
    """Runs a job that is due, and tells all who are to be told."""
    scheduler = bench.scheduler({"nightly": {**DAILY["nightly"], **(job or {})}}, **settings)
    scheduler.listeners = listeners_of(scheduler.definition, bench.store, clock=bench.clock, once=once)
    bench.runner.outcomes["nightly"] = list(outcomes)
    scheduler.define()
    bench.clock.pass_(days=1)
    scheduler.run_due()
    scheduler.listeners.close(seconds=20)
