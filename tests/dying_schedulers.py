"""Schedulers in processes of their own, one of which kills itself at a step of the life of a run."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from nessie_gc_jdbc import JdbcScheduleStore

from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.model.schedule import JobRun
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.schedule import scheduler as scheduler_module
from nessie_gc_core.services.schedule.asking import trigger
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.running import ProcessRunner
from nessie_gc_core.services.schedule.scheduler import Scheduler

LEASE = timedelta(seconds=5)
"""The shortest there is."""
_LOOK_SECONDS = 0.3
_PROGRAM = """
import fcntl, os, select, sys, time
log = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
alone = os.open(sys.argv[1] + ".lock", os.O_RDWR | os.O_CREAT)
try:
    fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
except OSError:
    os.write(log, b"two at the same time\\n")
os.write(log, b"begun\\n")
until = time.monotonic() + float(sys.argv[2])
while (left := until - time.monotonic()) > 0:
    if select.select([0], [], [], left)[0] and not os.read(0, 4096):
        sys.exit(143)
os.write(log, b"ended\\n")
print("{}")
"""
"""The program of a run: it takes a while, ends with its scheduler, and says if another one goes on."""
_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(["nessie_gc_jdbc", "nessie_gc_core.services.schedule.scheduler", __name__])


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the life of a run, at which one scheduler is killed."""

    verb: str
    """Of the store or of the runner."""
    after: bool
    """Whether it is done then."""
    lost: bool = False
    """Whether it is the end of a run that another scheduler has lost."""

    @property
    def text(self) -> str:
        """For people."""
        return f"{'after' if self.after else 'before'} {self.verb}{' of a lost run' if self.lost else ''}"


START, STARTED = Step(verb="start_run", after=False), Step(verb="start_run", after=True)
FORK, FORKED = Step(verb="start", after=False), Step(verb="start", after=True)
END, ENDED = Step(verb="finish_run", after=False), Step(verb="finish_run", after=True)
RENEWED = Step(verb="renew_run", after=True)
TAKE_OVER, TAKEN_OVER = (Step(verb="finish_run", after=after, lost=True) for after in (False, True))


@dataclass(kw_only=True)
class Town:
    """A schedule of one job with two schedulers; whenever one of them is killed, another one starts."""

    folder: Path
    url: str
    steps: Sequence[Step] = ()
    """At each of these, one scheduler is killed, whichever gets there first."""
    seconds: float = 0.3
    """How long a run takes."""
    every: str = "P1000D"
    name: str = "town"
    schedulers: list[ForkServerProcess] = field(default_factory=list)
    killed: int = 0

    @property
    def definition(self) -> ScheduleDefinition:
        """Its schedule."""
        table = {"name": self.name, "lease": LEASE, "jobs": {"job": {"service": "work", "every": self.every}}}
        return ScheduleDefinition.read(ConfigFile(name="x.toml", schedule=table), JobDigests(PluginRegistry()))

    @property
    def log(self) -> Path:
        """What the processes of runs say."""
        return self.folder / "log"

    @contextmanager
    def store(self) -> Iterator[JdbcScheduleStore]:
        """Its store."""
        with JdbcScheduleStore.from_options({"url": self.url, "schema": "CREATE_IF_NOT_EXISTS"}) as store:
            yield store

    def found(self) -> None:
        """Creates it, with its job due now."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "work.py").write_text(_PROGRAM)
        with self.store() as store:
            now = utc_now()
            store.define_jobs(self.name, [job.scheduled(now) for job in self.definition.jobs.values()])
            trigger(store, self.definition, "job", at=now)

    def tend(self) -> None:
        """Lets two schedulers be there."""
        for dead in [each for each in self.schedulers if each.exitcode is not None]:
            self.schedulers.remove(dead)
            self.killed += dead.exitcode == -signal.SIGKILL
        while len(self.schedulers) < 2:
            given = (self.folder, self.url, self.name, self.every, self.seconds, tuple(self.steps))
            process = _CONTEXT.Process(target=schedule, args=given)
            with _without_main():
                process.start()
            self.schedulers.append(process)

    def close(self) -> None:
        """Kills its schedulers."""
        for process in self.schedulers:
            process.kill()
            process.join()

    def runs(self) -> list[JobRun]:
        """All runs, the earliest first."""
        with self.store() as store:
            return [*store.runs(self.name)][::-1]


@contextmanager
def _without_main() -> Iterator[None]:
    """Processes that begin in the block do not import the program of this one, which is that of the tests."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def schedule(folder: Path, url: str, name: str, every: str, seconds: float, steps: Sequence[Step]) -> None:
    """The process of a scheduler."""
    scheduler_module.LOOK_SECONDS = _LOOK_SECONDS
    town = Town(folder=folder, url=url, name=name, every=every, seconds=seconds)
    command = (sys.executable, "-S", "-E", str(folder / "work.py"), str(town.log), str(seconds))
    with town.store() as store:
        runner = ProcessRunner(folder / "x.toml", command=command)
        for step in steps:
            _die(runner if step.verb == "start" else store, step, folder)
        Scheduler(definition=town.definition, store=store, runner=runner).run_forever()


def _die(of: object, step: Step, folder: Path) -> None:
    """Lets this process be killed at a step, unless another one was."""
    verb: Callable[..., Any] = getattr(of, step.verb)

    def dying(*arguments: Any, **named: Any) -> Any:
        if bool(named.get("lost")) is not step.lost:
            return verb(*arguments, **named)
        if not step.after:
            _kill(step, folder)
        result = verb(*arguments, **named)
        if step.after and result:
            _kill(step, folder)
        return result

    setattr(of, step.verb, dying)


def _kill(step: Step, folder: Path) -> None:
    try:
        os.close(os.open(folder / step.text, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    if step == FORKED:
        while not (folder / "log").exists():
            time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
