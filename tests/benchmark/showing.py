"""The results as one table, and as an artifact."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from lakes import LakeSpec
from rich.console import Console
from rich.table import Table

from benchmark.runs import RunResult

PHASES = ("mark", "expand", "list", "subtract", "recheck", "delete")


def growth(results: Sequence[RunResult], result: RunResult) -> float | None:
    """How many times the seconds of the same run on the smaller lake; ``None`` for the smallest."""
    same = [each for each in results if (each.engine, each.dry_run) == (result.engine, result.dry_run)]
    smaller = [each for each in same if each.appends < result.appends]
    return result.seconds / min(smaller, key=lambda each: each.appends).seconds if smaller else None


def show(results: Sequence[RunResult], spec: LakeSpec, *, keep_commits: int) -> None:
    """Prints one table."""
    title = (
        f"{spec.tables} tables, {spec.files_per_append} files an append, {spec.branches} branches, "
        f"{spec.garbage_ratio:.0%} garbage; newest {keep_commits} commits of each branch kept"
    )
    table = Table(title=title)
    for name in ("engine", "appends", "files", "seconds", "growth", "files/s", *PHASES, "driver MB"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for name in ("workers MB", "JVM MB", "all MB", "dead files"):
        table.add_column(name, justify="right")
    for result in results:
        ratio = growth(results, result)
        memory = [result.peak_megabytes.get(part, 0) for part in ("driver", "workers", "jvm", "together")]
        dead = f"{result.dead_files}" if result.is_right else f"{result.dead_files} != {result.expected_dead_files}"
        table.add_row(
            result.engine if result.dry_run else f"{result.engine} (deletes)",
            str(result.appends),
            str(result.stored_files),
            f"{result.seconds:.1f}",
            "" if ratio is None else f"x{ratio:.2f}",
            f"{result.files_per_second:,.0f}",
            *(f"{result.phases.get(phase, 0):.1f}" for phase in PHASES),
            *(f"{size:.0f}" for size in memory),
            dead,
        )
    Console(width=200).print(table)


def write_artifact(results: Sequence[RunResult], spec: LakeSpec, *, keep_commits: int, folder: Path) -> Path:
    """Writes everything that was measured as JSON."""
    now = datetime.now(UTC)
    content = {
        "measured": now.isoformat(timespec="seconds"),
        "machine": {"processors": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "tables": spec.tables,
        "files_per_append": spec.files_per_append,
        "branches": spec.branches,
        "garbage_ratio": spec.garbage_ratio,
        "keep_commits": keep_commits,
        "runs": [{**result.to_dict(), "growth": growth(results, result)} for result in results],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"benchmark-{now:%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path
