"""Kills a sweep that moves, hides or tags files, or a restore; then all comes back, with the same bytes. Or a purge."""

from __future__ import annotations

import signal
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3

from faults.cases import Kill
from faults.lake import Lake, keys
from faults.runs import AGES, Runs
from faults.trying import LEASE, LEASE_SECONDS, SMALL_STEPS, Result, kill_at, must, result_of, told_once
from nessie_gc_core.testing.servers import FaultProxy, Faults

_HELD = "held/"
_REQUESTS = {"moved": 4, "hidden": 2, "tagged": 5}
"""How many requests a file costs, a bulk deletion not counted."""


def killed_in_quarantine(lake: Lake, kill: Kill) -> Result:
    """Kills the command, runs it again, and brings everything back, unless it is purged."""
    if kill.kind == "hidden":
        _keep_versions(lake)
    lake.put_back()
    with tempfile.TemporaryDirectory(prefix="nessie-gc-faults-") as folder:
        runs = Runs(lake, Path(folder))
        bucket = f"s3://{lake.server.bucket}/"
        place = {"moved": f"{bucket}{_HELD}", "hidden": f"versions:{bucket}", "tagged": f"tags:{bucket}"}[kill.kind]
        one = ["-L", str(runs.live_set), "--engine", "local", *SMALL_STEPS, *LEASE]
        hold = ["--quarantine", place, *(["--quarantine-for", "PT0S"] if kill.command == "purge" else [])]
        sweep = ["sweep", *one, *hold, "--outcomes-to", str(runs.outcomes), *AGES]
        more = ["--engine", "local", "--outcomes-to", str(runs.outcomes), *SMALL_STEPS, *LEASE]
        restore, purge = ["restore", "--everything", *more], ["purge", *more]
        mark = ["mark", "--write-live-set-id-to", str(runs.live_set)]
        must(runs.run(lake.server.properties, *mark).exit_code, "mark")
        if kill.command != "quarantine":
            must(runs.run(lake.server.properties, *sweep).exit_code, "sweep")
        problems = _killed_and_run_again(
            lake, runs, kill, {"restore": restore, "purge": purge}.get(kill.command, sweep)
        )
        if kill.command == "quarantine":
            back = runs.run(lake.server.properties, *restore)
            problems += [f"the restore ended with {back.exit_code}: {back.said}"] if back.exit_code else []
        for expected in ("quarantined", "purged" if kill.command == "purge" else "restored"):
            named = runs.named().items()
            problems += told_once(lake, [key for (key, outcome), n in named if outcome == expected for _ in range(n)])
    compare = {"moved": _compared, "hidden": _of_versions, "tagged": _of_tags}[kill.kind]
    return compare(lake, kill, problems)


def _killed_and_run_again(lake: Lake, runs: Runs, kill: Kill, command: Sequence[str]) -> list[str]:
    faults = Faults(stop_at_delete=kill.deletes)
    if kill.share:
        before = _requests(lake, runs, command) if kill.command == "quarantine" else 0
        faults = Faults(stop_at=before + int(_REQUESTS[kill.kind] * len(lake.dead) * kill.share))
    code = kill_at(lake, runs, kill, command, faults)
    problems = [] if code in (-signal.SIGKILL, 143) else [f"it ended with {code} before it was killed"]
    time.sleep(LEASE_SECONDS if kill.signal == "SIGKILL" else 0)
    again = [*command, *(["--resume"] if kill.command == "quarantine" else [])]
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


def _of_versions(lake: Lake, kill: Kill, problems: Sequence[str]) -> Result:
    """Of what was restored one version is left, and no delete marker; of what was purged nothing."""
    versions, markers = _versions(lake)
    back, purges = keys(lake.store) & lake.dead.keys(), kill.command == "purge"
    expected = dict.fromkeys(() if purges else lake.dead, 1)
    wrong = sum(versions.get(key, 0) != expected.get(key, 0) for key in lake.dead) + len(markers)
    data = sum(bytes(lake.store.get(key).bytes()) != lake.dead[key] for key in back)
    missing = 0 if purges else len(lake.dead.keys() - back)
    outcome = "hidden, and purged" if purges else f"{len(back):,} hidden, and back"
    return Result(
        name=kill.name,
        tries=2,
        outcome=outcome,
        lost=len(lake.lost()) + data + missing,
        leaked=wrong,
        problems=problems,
    )


def _of_tags(lake: Lake, kill: Kill, problems: Sequence[str]) -> Result:
    """What was restored is as it was, and has no tag; of what was purged nothing is left."""
    back, purges = keys(lake.store) & lake.dead.keys(), kill.command == "purge"
    wrong = sum(bytes(lake.store.get(key).bytes()) != lake.dead[key] for key in back)
    with closing(_client(lake)) as client:
        tagged = [key for key in back if client.get_object_tagging(Bucket=lake.server.bucket, Key=key)["TagSet"]]
    return Result(
        name=kill.name,
        tries=2,
        outcome="tagged, and purged" if purges else f"{len(back):,} tagged, and as before",
        lost=len(lake.lost()) + wrong + (0 if purges else len(lake.dead.keys() - back)),
        leaked=len(back) if purges else len(tagged),
        problems=problems,
    )


def _versions(lake: Lake) -> tuple[Counter[str], set[str]]:
    """How many versions each dead key has, and those with a delete marker."""
    versions, markers = Counter[str](), set[str]()
    with closing(_client(lake)) as client:
        for page in client.get_paginator("list_object_versions").paginate(Bucket=lake.server.bucket):
            versions.update(row["Key"] for row in page.get("Versions", ()) if row["Key"] in lake.dead)
            markers.update(row["Key"] for row in page.get("DeleteMarkers", ()) if row["Key"] in lake.dead)
    return versions, markers


def _keep_versions(lake: Lake) -> None:
    with closing(_client(lake)) as client:
        client.put_bucket_versioning(Bucket=lake.server.bucket, VersioningConfiguration={"Status": "Enabled"})


def _client(lake: Lake) -> Any:
    server = lake.server
    return boto3.client(
        "s3",
        endpoint_url=server.endpoint,
        aws_access_key_id=server.access_key,
        aws_secret_access_key=server.secret_key,
        region_name=server.region,
    )
