"""One run of ``nessie-gc gc`` on one lake, and what is kept of it."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lakes import CommittedLake

from benchmark.measuring import measure
from benchmark.places import DISK, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class GcRun:
    """What is run."""

    engine: str
    keep_commits: int
    place: Place = DISK
    workers: int | None = None
    """``--expiry-parallelism``; ``None``: its default."""
    dry_run: bool = True
    launcher: tuple[str, ...] = ()
    """The command before its arguments; empty: ``nessie-gc`` beside this Python."""
    more: tuple[str, ...] = ()

    def command(self, uri: str) -> list[str]:
        """The whole command line."""
        launcher = self.launcher or (str(Path(sys.executable).with_name("nessie-gc")),)
        arguments = ["gc", "-u", uri, "--inmemory", "--default-cutoff", str(self.keep_commits)]
        if self.workers is not None:
            arguments += ["--expiry-parallelism", str(self.workers)]
        arguments += ["--engine", self.engine, "--json", *["--dry-run"] * self.dry_run, *self.place.arguments()]
        return [*launcher, *arguments, *self.more]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What came of it."""

    engine: str
    dry_run: bool
    place: str
    workers: int | None
    floor: float
    """Seconds in which everything is read once and nothing else is done (:mod:`benchmark.floor`)."""
    tables: int
    appends: int
    stored_files: int
    seconds: float
    phases: dict[str, float]
    peak_megabytes: dict[str, float]
    dead_files: int
    """How many files the run named (or deleted)."""
    expected_dead_files: int
    report: dict[str, Any] = field(repr=False)

    @property
    def files_per_second(self) -> float:
        """Stored files per second of the whole process."""
        return self.stored_files / self.seconds

    @property
    def times_the_floor(self) -> float:
        """How many times the floor it took."""
        return self.seconds / self.floor

    @property
    def is_right(self) -> bool:
        """Whether it found exactly the dead files."""
        return self.dead_files == self.expected_dead_files

    def to_dict(self) -> dict[str, Any]:
        """As the artifact has it."""
        return {
            **dataclasses.asdict(self),
            "files_per_second": round(self.files_per_second),
            "is_right": self.is_right,
            "times_the_floor": round(self.times_the_floor, 2),
        }


def read_once(lake: CommittedLake, place: Place) -> float:
    """Seconds of the floor; the better of two runs."""
    properties = (part for name, value in place.properties.items() for part in ("--property", f"{name}={value}"))
    command = [sys.executable, "-m", "benchmark.floor", lake.nessie_uri, *properties]
    return round(min(measure(command).seconds for _ in range(2)), 2)


def run_gc(run: GcRun, lake: CommittedLake, *, floor: float) -> RunResult:
    """Runs it on the lake, as it stands there."""
    expected = len(lake.dead_paths(run.keep_commits))
    environment = {**os.environ, "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable)}
    measured = measure(run.command(lake.nessie_uri), environment=environment)
    report: dict[str, Any] = json.loads(measured.output)
    done = report["would_delete"] if run.dry_run else report["deleted"]
    return RunResult(
        engine=run.engine,
        dry_run=run.dry_run,
        place=run.place.name,
        workers=run.workers,
        floor=floor,
        tables=lake.spec.table_count,
        appends=lake.appends,
        stored_files=lake.stored_files,
        seconds=round(measured.seconds, 2),
        phases=report["phases"],
        peak_megabytes={part: round(size) for part, size in measured.peak_megabytes.items()},
        dead_files=done["files"],
        expected_dead_files=expected,
        report=report,
    )


def missing_files(lake: CommittedLake, keep_commits: int) -> list[str]:
    """Live files that are not on the disk."""
    return [path for path in sorted(lake.live_paths(keep_commits)) if not Path(path).is_file()]


def fastest(results: Sequence[RunResult]) -> RunResult:
    """The fastest of several equal runs."""
    return min(results, key=lambda result: result.seconds)
