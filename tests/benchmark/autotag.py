"""``python -m benchmark autotag``: ``nessie-gc autotag`` on a Nessie with many tags, each run a whole process.

The first run makes a tag, the second finds nothing to do, and the third deletes the tag. The exit code is 1 where one
of them did something else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import requests
from lakes.nessie import NessieCommits
from rich.console import Console

from benchmark.measuring import Measured, measure
from nessie_gc_core.testing.servers import NessieServer

_CONTENT = {"type": "ICEBERG_TABLE", "snapshotId": 1, "schemaId": 0, "specId": 0, "sortOrderId": 0}
_EXPECTED: tuple[list[str], ...] = (["made"], [], ["deleted"])


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark autotag", description=__doc__)
    parser.add_argument("--references", type=int, default=10_000, metavar="N", help="how many tags; default 10,000")
    given = parser.parse_args(arguments)
    with NessieServer(heap="1g") as server, tempfile.TemporaryDirectory(prefix="nessie-gc-benchmark-") as folder:
        _write(server.uri, given.references)
        time.sleep(61 - time.time() % 60)  # a minute begins after the commit
        policies = ("PT1M=1000", "PT1M=1000", "PT1M=0")
        runs = [_run(server.uri, Path(folder), policy) for policy in policies]
    for what, run in zip(("makes a tag", "nothing to do", "deletes it"), runs, strict=True):
        peak = run.peak_megabytes["together"]
        Console().print(f"{given.references:,} references, {what}: {run.seconds:.1f} s, {peak:.0f} MB")
    return 0 if all(_is_right(run, expected) for run, expected in zip(runs, _EXPECTED, strict=True)) else 1


def _write(uri: str, references: int) -> None:
    with NessieCommits(uri) as commits:
        head, _ = commits.put("main", {("t",): {**_CONTENT, "metadataLocation": "s3://b/t/1.json"}}, message="m")
    source = {"type": "BRANCH", "name": "main", "hash": head}
    started = time.perf_counter()
    with requests.Session() as session:
        for number in range(references):
            named = {"name": f"release/{number:06}", "type": "TAG"}
            session.post(f"{uri}/trees", params=named, json=source, timeout=30).raise_for_status()
    sys.stderr.write(f"{references} tags: {time.perf_counter() - started:.1f} s\n")


def _run(uri: str, folder: Path, policy: str) -> Measured:
    program = str(Path(sys.executable).with_name("nessie-gc"))
    store = ("--jdbc-url", f"sqlite:///{folder}/store.db")
    command = (program, "autotag", "--uri", uri, *store, "--tag-policy", policy, "--json", "--quiet")
    return measure(command, environment={**os.environ, "XDG_DATA_HOME": str(folder)})


def _is_right(run: Measured, expected: Sequence[str]) -> bool:
    found = [tag["outcome"] for tag in json.loads(run.output)["tags"] if tag["outcome"] != "no state"]
    return list(expected) == found
