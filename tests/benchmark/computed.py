"""``python -m benchmark computed``: ``gc --dry-run`` over computed lakes, which take no space, on both engines.

Each run is a whole process, which computes references, metadata and listings from the options of the lake. The exit
code is 1 where a run found another number of files than the oracle.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nessie_gc_memory.mock import MockCounts, MockLakeSpec, MockOracle
from rich.console import Console
from rich.table import Table

from benchmark.measuring import Measured, measure
from nessie_gc_core.testing.servers import JavaRole, find_java

_COLUMNS = ("engine", "files", "garbage", "seconds", "processor seconds", "driver MB", "workers MB", "JVM MB", "all MB")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputedRun:
    """One run, and what the oracle expects of it."""

    engine: str
    counts: MockCounts
    garbage: int
    """Files that the run found."""
    measured: Measured

    @property
    def is_right(self) -> bool:
        """Whether it found as many files as the oracle."""
        return self.garbage == self.counts.garbage


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark computed", description=__doc__)
    parser.add_argument(
        "--files",
        type=int,
        action="append",
        metavar="N",
        help="data files; may be repeated; default: 1,000,000",
    )
    parser.add_argument("--engine", action="append", choices=("local", "spark"), help="may be repeated; default: both")
    parser.add_argument("--tables", type=int, default=100, metavar="N", help="default: 100")
    parser.add_argument("--policy", default="1", help="the cut-off policy; default: 1")
    parser.add_argument("more", nargs="*", help="more arguments of nessie-gc, after --")
    given = parser.parse_args(arguments)
    runs = []
    for files in given.files or (1_000_000,):
        for engine in given.engine or ("local", "spark"):
            runs.append(_run(engine, lake_of(files, given.tables), given.policy, given.more))
            show(runs[-1:], Console(width=160))
    return 0 if all(run.is_right for run in runs) else 1


def lake_of(files: int, tables: int) -> MockLakeSpec:
    """A lake with about so many data files: ten snapshots of each table, and a tenth of garbage."""
    per_commit = max(files // (tables * 10), 1)
    return MockLakeSpec(
        lake="benchmark",
        references=10,
        commits=tables * 10,
        table_count=tables,
        files_per_commit=per_commit,
        garbage_files=per_commit,
    )


def _run(engine: str, spec: MockLakeSpec, policy: str, more: Sequence[str]) -> ComputedRun:
    with tempfile.TemporaryDirectory(prefix="nessie-gc-benchmark-") as folder:
        file = Path(folder, "lake.toml")
        file.write_text(f'engine = "{engine}"\ninmemory = true\n\n{spec.as_toml()}', encoding="utf-8")
        command = [str(Path(sys.executable).with_name("nessie-gc")), "gc", "--config", str(file), "--dry-run"]
        java = {"JAVA_HOME": str(find_java(JavaRole.SPARK).home)} if engine == "spark" else {}
        environment = {**os.environ, "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable), **java}
        measured = measure([*command, "--default-cutoff", policy, "--json", *more], environment=environment)
    found = json.loads(measured.output)["unreferenced"]["files"]
    return ComputedRun(engine=engine, counts=MockOracle(spec, policy).counts(), garbage=found, measured=measured)


def show(runs: Iterable[ComputedRun], console: Console) -> None:
    """Prints one table."""
    table = Table()
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name == "engine" else "right")
    for run in runs:
        wrong = "" if run.is_right else f" != {run.counts.garbage:,}"
        peaks = (run.measured.peak_megabytes.get(part, 0.0) for part in ("driver", "workers", "jvm", "together"))
        table.add_row(
            run.engine,
            f"{run.counts.stored:,}",
            f"{run.garbage:,}{wrong}",
            f"{run.measured.seconds:.1f}",
            f"{run.measured.processor_seconds:.1f}",
            *(f"{peak:,.0f}" for peak in peaks),
        )
    console.print(table)
