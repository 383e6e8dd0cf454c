"""The results as one table, and as an artifact."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmark.runs import RunResult
from benchmark.shape import LakeShape

PHASES = ("mark", "expand", "list", "subtract", "recheck", "delete")


def growth(results: Sequence[RunResult], result: RunResult) -> float | None:
    """How many times the seconds of the same run on the smaller lake; ``None`` for the smallest."""
    same = [each for each in results if _kind(each) == _kind(result)]
    smaller = [each for each in same if each.stored_files < result.stored_files]
    return result.seconds / min(smaller, key=lambda each: each.stored_files).seconds if smaller else None


def scaling_share(results: Sequence[RunResult], result: RunResult) -> float | None:
    """Which share of its time with one worker the other workers took part in; ``None`` without such a run.

    By Amdahl's law n workers take ``1 - s + s / n`` of the time of one, where s is that share.
    """
    kind = _kind(result)[:-1]
    alone = [each for each in results if _kind(each)[:-1] == kind and each.workers == 1]
    one = next((each for each in alone if each.stored_files == result.stored_files), None)
    if one is None or result.workers is None or result.workers < 2:
        return None
    return (1 - result.seconds / one.seconds) / (1 - 1 / result.workers)


def _kind(result: RunResult) -> tuple[object, ...]:
    return (result.engine, result.dry_run, result.place, result.workers)


def show(results: Sequence[RunResult], shape: LakeShape, *, keep_commits: int) -> None:
    """Prints one table."""
    title = (
        f"{shape.files_per_append} files an append, {shape.branches} branches, "
        f"{shape.garbage_ratio:.0%} garbage; newest {keep_commits} commits of each branch kept"
    )
    table = Table(title=title)
    numbers = ("tables", "appends", "files", "floor", "seconds", "ratio", "growth", "scales", *PHASES)
    for name in ("place", "engine", *numbers):
        table.add_column(name, justify="left" if name in ("place", "engine") else "right")
    for name in ("driver MB", "workers MB", "JVM MB", "all MB", "dead files"):
        table.add_column(name, justify="right")
    for result in results:
        ratio, share = growth(results, result), scaling_share(results, result)
        memory = [result.peak_megabytes.get(part, 0) for part in ("driver", "workers", "jvm", "together")]
        dead = f"{result.dead_files}" if result.is_right else f"{result.dead_files} != {result.expected_dead_files}"
        table.add_row(
            result.place,
            _engine(result),
            str(result.tables),
            str(result.appends),
            str(result.stored_files),
            f"{result.floor:.1f}",
            f"{result.seconds:.1f}",
            f"x{result.times_the_floor:.2f}",
            "" if ratio is None else f"x{ratio:.2f}",
            "" if share is None else f"{share:.0%}",
            *(f"{result.phases.get(phase, 0):.1f}" for phase in PHASES),
            *(f"{size:.0f}" for size in memory),
            dead,
        )
    Console(width=220).print(table)


def _engine(result: RunResult) -> str:
    workers = "" if result.workers is None else f", {result.workers} workers"
    return f"{result.engine}{workers}{'' if result.dry_run else ' (deletes)'}"


def write_artifact(results: Sequence[RunResult], shape: LakeShape, *, keep_commits: int, folder: Path) -> Path:
    """Writes everything that was measured as JSON."""
    now = datetime.now(UTC)
    content = {
        "measured": now.isoformat(timespec="seconds"),
        "machine": {"processors": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()},
        "tables": shape.tables,
        "files_per_append": shape.files_per_append,
        "branches": shape.branches,
        "garbage_ratio": shape.garbage_ratio,
        "keep_commits": keep_commits,
        "runs": [
            {**result.to_dict(), "growth": growth(results, result), "scales": scaling_share(results, result)}
            for result in results
        ],
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"benchmark-{now:%Y%m%dT%H%M%S}.json"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path
