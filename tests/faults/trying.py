"""Runs a collection with a fault, or kills it, until all is done; counts what was lost and what is left."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from faults.cases import Fault, Kill
from faults.lake import Lake
from faults.runs import AGES, Runs, ended
from nessie_gc_core.testing.servers import FaultProxy, Faults

_MOST_TRIES = 3
LEASE = ("--lease", "PT3S")
LEASE_SECONDS = 3.5
SMALL_STEPS = ("--files-per-step", "1000")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A row of the table."""

    name: str
    tries: int
    outcome: str
    lost: int
    leaked: int
    problems: Sequence[str]
    """What is not as it has to be."""

    @property
    def is_right(self) -> bool:
        """Whether nothing is lost or left, and everything was told."""
        return not (self.lost or self.leaked or self.problems)


def with_fault(lake: Lake, fault: Fault) -> Result:
    """Collects with the fault; once more, without it, if that was not all.

    A table whose metadata cannot be read is frozen, and named as such, so its files may stay in the first run.
    """
    lake.put_back()
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="nessie-gc-faults-") as folder, ExitStack() as stack:
        runs = Runs(lake, Path(folder))
        properties: Mapping[str, str] = lake.server.properties
        if fault.faults is not None:
            properties = stack.enter_context(FaultProxy(properties, fault.faults)).properties
        options = ("--engine", fault.engine, "--outcomes-to", str(runs.outcomes), *AGES)
        first = runs.run({**properties, **fault.properties}, "gc", *options)
        problems += _first_try(lake, fault, runs, first.exit_code, first.said)
        tries, codes, told = 1, [first.exit_code], deleted(runs)
        while (codes[-1] or lake.left()) and tries < _MOST_TRIES:
            runs.outcomes.unlink(missing_ok=True)
            codes.append(runs.run(lake.server.properties, "gc", *options).exit_code)
            told += deleted(runs)
            tries += 1
        problems += told_once(lake, told)
    return result_of(lake, fault.name, tries, "exit " + ", ".join(map(str, codes)), problems)


def _first_try(lake: Lake, fault: Fault, runs: Runs, code: int, said: str) -> list[str]:
    problems = []
    left = lake.left()
    if fault.is_told and code != 1:
        problems.append(f"exit code {code} instead of 1: {said}")
    if not fault.is_told and code:
        problems.append(f"exit code {code}: {said}")
    if fault.deletes_nothing and len(left) < len(lake.dead):
        problems.append("it deleted files")
    if not code and left:
        problems.append(f"exit code 0 though {len(left)} files are left: {said}")
    wrong = left.intersection(deleted(runs))
    if wrong:
        problems.append(f"{len(wrong)} files are there that it named as deleted")
    return problems


def killed(lake: Lake, kill: Kill) -> Result:
    """Kills a command, and runs it again."""
    lake.put_back()
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="nessie-gc-faults-") as folder:
        runs = Runs(lake, Path(folder))
        command = _prepared(lake, runs, kill)
        code = _kill(lake, runs, kill, command)
        if code not in (-signal.SIGKILL, 143):
            problems.append(f"it ended with {code} before it was killed")
        before = len(lake.left())
        time.sleep(LEASE_SECONDS if kill.signal == "SIGKILL" else 0)
        again = _again(lake, runs, kill, command)
        if again:
            problems.append(again)
        problems += told_once(lake, deleted(runs))
    outcome = f"{len(lake.dead) - before:,} deleted, then the rest"
    return result_of(lake, kill.name, 2, outcome, problems)


def _prepared(lake: Lake, runs: Runs, kill: Kill) -> list[str]:
    """Runs what comes before the command that is killed; gives that command."""
    mark = ["mark", "--write-live-set-id-to", str(runs.live_set)]
    one = ["-L", str(runs.live_set)]
    more = ["--engine", "local", "--outcomes-to", str(runs.outcomes), *SMALL_STEPS, *LEASE]
    sweep = ["sweep", *one, *more, *AGES]
    if kill.command == "mark":
        return mark
    must(runs.run(lake.server.properties, *mark).exit_code, "mark")
    if kill.command == "sweep":
        return sweep
    defer = ["sweep", *one, "--engine", "local", "--defer-deletes", *AGES]
    must(runs.run(lake.server.properties, *defer).exit_code, "sweep")
    return ["deferred-deletes", *one, *more]


def _kill(lake: Lake, runs: Runs, kill: Kill, command: Sequence[str]) -> int:
    """Begins the command, and kills it when the proxy answers no more; its exit code."""
    faults = Faults(stop_at_delete=kill.deletes)
    if kill.share:
        faults = Faults(stop_at=max(1, int(_requests(lake, kill, command) * kill.share)))
    return kill_at(lake, runs, kill, command, faults)


def kill_at(lake: Lake, runs: Runs, kill: Kill, command: Sequence[str], faults: Faults) -> int:
    """Begins the command, and kills it when a proxy with these faults answers no more; its exit code."""
    with FaultProxy(lake.server.properties, faults) as proxy:
        process = runs.begin(proxy.properties, *command)
        is_at_work_until(process, lambda: is_reached(proxy, faults.stop_at, faults.stop_at_delete))
        time.sleep(0.3)  # what else it sends meanwhile is not answered either
        process.send_signal(signal.Signals[kill.signal])
        if kill.signal == "SIGKILL":
            return ended(process).exit_code
    return ended(process).exit_code  # the network is gone: nothing that it waits for keeps it


def is_at_work_until(process: subprocess.Popen[str], is_time: Callable[[], bool]) -> bool:
    """Waits until it is time, or the process ends; whether it is still at work."""
    while process.poll() is None and not is_time():
        time.sleep(0.02)
    return process.poll() is None


def is_reached(proxy: FaultProxy, requests: int, deletes: int) -> bool:
    """Whether so many bulk deletions came to a proxy, or if it is none of them, so many requests."""
    counts = proxy.counts()
    return counts["deletes"] >= deletes if deletes else counts["requests"] >= requests


def _requests(lake: Lake, kill: Kill, command: Sequence[str]) -> int:
    """How many requests the command makes before it deletes anything."""
    with tempfile.TemporaryDirectory(prefix="nessie-gc-faults-") as folder:
        runs = Runs(lake, Path(folder))
        whole = _prepared(lake, runs, kill)
        dry = [] if kill.command == "mark" else ["--dry-run"]
        with FaultProxy(lake.server.properties, Faults()) as proxy:
            must(runs.run(proxy.properties, *whole, *dry).exit_code, command[0])
            return proxy.counts()["requests"]


def _again(lake: Lake, runs: Runs, kill: Kill, command: Sequence[str]) -> str:
    """Finishes what was killed; says what is wrong about that."""
    properties = lake.server.properties
    if kill.command == "mark":
        must(runs.run(properties, *command).exit_code, "mark")
        command = _prepared(lake, runs, Kill(name="", command="sweep", signal=""))
    elif kill.command == "sweep":
        done = runs.run(properties, *command, "--resume")
        if done.exit_code == 0:
            return ""
        if "resume" not in done.said:
            return f"the resumed sweep ended with {done.exit_code}: {done.said}"
    done = runs.run(properties, *command)
    return f"the second {command[0]} ended with {done.exit_code}: {done.said}" if done.exit_code else ""


def must(code: int, command: str) -> None:
    """Ends the program if what a trial begins with does not work."""
    if code:
        raise subprocess.CalledProcessError(code, command)


def deleted(runs: Runs) -> list[str]:
    """The keys that the outcome file names as deleted, as often as it does."""
    return [key for (key, outcome), times in runs.named().items() if outcome == "deleted" for _ in range(times)]


def told_once(lake: Lake, told: Sequence[str]) -> list[str]:
    """What is wrong about the keys that outcome files name: each dead file has to be named once, and no other."""
    problems = []
    if len(told) > len(set(told)):
        problems.append(f"{len(told) - len(set(told))} files are named more than once")
    untold = lake.dead.keys() - set(told)
    if untold:
        problems.append(f"{len(untold)} files are not named as deleted, such as {min(untold)}")
    if set(told) - lake.dead.keys():
        problems.append("files are named as deleted that should stay")
    return problems


def result_of(lake: Lake, name: str, tries: int, outcome: str, problems: Sequence[str]) -> Result:
    """The row of a trial that should have left nothing but live files."""
    lost, leaked = len(lake.lost()), len(lake.left())
    return Result(name=name, tries=tries, outcome=outcome, lost=lost, leaked=leaked, problems=problems)
