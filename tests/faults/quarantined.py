"""Kills a sweep that moves files to a quarantine, or a restore; then all comes back, with the same bytes."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from faults.cases import Kill
from faults.lake import Lake, keys
from faults.runs import AGES, Runs
from faults.trying import LEASE, LEASE_SECONDS, SMALL_STEPS, Result, kill_at, must, result_of, told_once
from nessie_gc_core.testing.servers import FaultProxy, Faults

_HELD = "held/"
_REQUESTS = 4
"""How many requests a file costs that is moved, the deletion not counted."""


def killed_in_quarantine(lake: Lake, kill: Kill) -> Result:
    """Kills the command, runs it again, and brings everything back."""
    lake.put_back()
    with tempfile.TemporaryDirectory(prefix="nessie-gc-faults-") as folder:
        runs = Runs(lake, Path(folder))
        place = f"s3://{lake.server.bucket}/{_HELD}"
        one = ["-L", str(runs.live_set), "--engine", "local", *SMALL_STEPS, *LEASE]
        sweep = ["sweep", *one, "--quarantine", place, "--outcomes-to", str(runs.outcomes), *AGES]
        restore = ["restore", "--everything", "--engine", "local", *SMALL_STEPS, *LEASE]
        mark = ["mark", "--write-live-set-id-to", str(runs.live_set)]
        must(runs.run(lake.server.properties, *mark).exit_code, "mark")
        if kill.command == "restore":
            must(runs.run(lake.server.properties, *sweep).exit_code, "sweep")
        command = restore if kill.command == "restore" else sweep
        problems = _killed_and_run_again(lake, runs, kill, command)
        told = [key for (key, outcome), times in runs.named().items() if outcome == "quarantined" for _ in range(times)]
        problems += told_once(lake, told)
        if kill.command != "restore":
            back = runs.run(lake.server.properties, *restore)
            problems += [f"the restore ended with {back.exit_code}: {back.said}"] if back.exit_code else []
    return _compared(lake, kill, problems)


def _killed_and_run_again(lake: Lake, runs: Runs, kill: Kill, command: Sequence[str]) -> list[str]:
    faults = Faults(stop_at_delete=kill.deletes)
    if kill.share:
        before = _requests(lake, runs, command) if kill.command != "restore" else 0
        faults = Faults(stop_at=before + int(_REQUESTS * len(lake.dead) * kill.share))
    code = kill_at(lake, runs, kill, command, faults)
    problems = [] if code in (-signal.SIGKILL, 143) else [f"it ended with {code} before it was killed"]
    time.sleep(LEASE_SECONDS if kill.signal == "SIGKILL" else 0)
    again = [*command, *(["--resume"] if kill.command != "restore" else [])]
    done = runs.run(lake.server.properties, *again)
    return problems + ([f"the second run ended with {done.exit_code}: {done.said}"] if done.exit_code else [])


def _requests(lake: Lake, runs: Runs, command: Sequence[str]) -> int:
    """How many requests come before the first file is moved."""
    with FaultProxy(lake.server.properties, Faults()) as proxy:
        must(runs.run(proxy.properties, *command, "--dry-run").exit_code, command[0])
        runs.outcomes.unlink()
        return proxy.counts()["requests"]


def _compared(lake: Lake, kill: Kill, problems: Sequence[str]) -> Result:
    """Everything has to be where it was, and nothing in quarantine."""
    store = lake.store
    stored = keys(store)
    back: Mapping[str, bytes] = {key: bytes(store.get(key).bytes()) for key in lake.dead.keys() & stored}
    wrong = sum(back.get(key) != data for key, data in lake.dead.items())
    held = [key for key in stored if key.startswith(_HELD)]
    for key in held:
        store.delete(key)
    found = result_of(lake, kill.name, 2, f"{len(back):,} moved, and back", problems)
    return Result(
        name=found.name,
        tries=found.tries,
        outcome=found.outcome,
        lost=found.lost + wrong,
        leaked=len(held),
        problems=problems,
    )
