"""Lets a month of a lake's operations pass in minutes: writers commit, and a schedule looks after what they leave.

python simulate.py --days 30 --folder /tmp/operations
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lake import CATALOG, Lake

from nessie_gc_core import Schedule
from nessie_gc_core.model.schedule import JobRun, RunStatus

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).resolve().parent
PACKAGES = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0,org.xerial:sqlite-jdbc:3.50.3.0"
NEEDS_SPARK = ("compact", "manifests")
"""Jobs that are paused where there is no Spark."""
GOOD = "every snapshot that a table lists can be read, and has the rows that it had"
_WRITERS_HOUR = timedelta(hours=12)
_GONE = ("deleted", "quarantined", "purged")
"""Outcomes of files that are no longer where they were."""
_GONE_AFTER = {"shop": timedelta(hours=54), "logs": timedelta(days=4), "raw": timedelta(days=4)}
"""Garbage that is older than this must be gone: what two or three runs must have seen stays longer."""
_WIDTHS = (12, 22, 5, 34, 10, 10)


class Clock:
    """The simulated time: it goes on as real time does, and jumps to when something happens."""

    def __init__(self, now: datetime) -> None:
        """Takes the time at which it begins."""
        self.set(now)

    def set(self, now: datetime) -> None:
        """Jumps to a time."""
        self._now, self._since = now, time.monotonic()

    def __call__(self) -> datetime:
        """The time now."""
        return self._now + timedelta(seconds=time.monotonic() - self._since)


@dataclass
class Month:
    """What happened."""

    lines: list[str] = field(default_factory=list)
    """The summary."""
    problems: list[str] = field(default_factory=list)
    """What must not be: a file that is needed and gone, or a run that failed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Simulates, and writes the page, the metrics and a summary; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--folder", type=Path, help="an empty folder for the lake (default: a temporary one)")
    parser.add_argument("--until", type=datetime.fromisoformat, help="the day after the last one (default: today)")
    parser.add_argument("--spark", action="store_true", help="run compact and rewrite-manifests as well")
    given = parser.parse_args(arguments)
    folder = (given.folder or Path(tempfile.mkdtemp(prefix="operations-"))).resolve()
    until = (given.until or datetime.now(UTC)).replace(tzinfo=UTC)
    begun = time.monotonic()
    month = simulate(folder, _midnight(until) - timedelta(days=given.days), given.days, spark=given.spark)
    took = f"{given.days} days in {time.monotonic() - begun:.0f} seconds; see page.html and metrics.txt in {folder}"
    lines = [*month.lines, took, *(month.problems or [GOOD])]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if month.problems else 0


def simulate(folder: Path, begin: datetime, days: int, *, spark: bool = False) -> Month:
    """Lets days pass.

    Args:
        folder: an empty folder for the lake.
        begin: the first midnight; the last day must be over.
        days: how many days.
        spark: whether there is Spark.
    """
    lake, clock, month = Lake(folder), Clock(begin), Month()
    lake.write(0)
    lake.date(begin - _WRITERS_HOUR)
    config = folder / "nessie-gc.toml"
    config.write_text((HERE / "nessie-gc.toml").read_text(encoding="utf-8").replace("/lake/", f"{folder}/"))
    os.environ[f"PYICEBERG_CATALOG__{CATALOG.upper()}__URI"] = f"sqlite:///{folder}/catalog.db"  # for ops.unreferenced
    os.environ[f"PYICEBERG_CATALOG__{CATALOG.upper()}__WAREHOUSE"] = f"file://{lake.warehouse}"
    session = spark_session(folder) if spark else None
    with Schedule.from_toml(config, spark=session, clock=clock) as schedule:
        if session is None:
            schedule.pause(*NEEDS_SPARK)
        schedule.run_once()  # nothing is due yet
        for day in range(1, days + 1):
            midnight = begin + timedelta(days=day)
            for until in (midnight - _WRITERS_HOUR, midnight):
                run_until(schedule, until, clock, lake)
                if until.hour:
                    lake.write(day)
                    lake.date(clock())
            month.problems += [f"day {day}: {problem}" for problem in lake.problems(again=day == days)]
        month.problems += problems(schedule)
        for namespace, after in _GONE_AFTER.items():
            late = lake.garbage(namespace, older_than=clock() - after)
            month.problems += [f"{path} is garbage, and still there" for path in late]
        gone = lake.failed_writes - sum(len(lake.garbage(each, older_than=clock())) for each in _GONE_AFTER)
        month.lines = [*summary(schedule), "", f"{gone} of {lake.failed_writes} files of failed writes are gone"]
        (folder / "page.html").write_text(schedule.page(), encoding="utf-8")
        (folder / "metrics.txt").write_text(schedule.metrics(), encoding="utf-8")
    lake.catalog.close()
    return month


def _midnight(day: datetime) -> datetime:
    return day.replace(hour=0, minute=0, second=0, microsecond=0)


def run_until(schedule: Schedule, until: datetime, clock: Clock, lake: Lake) -> None:
    """Runs what is due until a time, each at its own."""
    while True:
        due = min(job.next.starts for job in schedule.jobs() if job.next is not None and not job.paused)
        if due >= until:
            clock.set(until)
            return
        clock.set(max(clock(), due))
        schedule.run_once()
        lake.date(clock())


def problems(schedule: Schedule) -> Iterator[str]:
    """Runs that went wrong, or that missed a file."""
    for run in schedule.history():
        if run.status not in (RunStatus.SUCCEEDED, RunStatus.NOT_DUE):
            yield f"{run.job} of {run.occasion.due:%d %B} {run.status}: {run.error}"
        if lost := sum(_files_and_bytes(schedule, run, ["lost"])):
            yield f"{run.job} of {run.occasion.due:%d %B}: {lost} files are lost"


def summary(schedule: Schedule) -> Iterator[str]:
    """A line for each job: how many runs, what became of them, how many files and bytes went."""
    yield _line("job", "service", "runs", "outcomes", "files", "bytes")
    runs = schedule.history()
    for job in sorted({run.job for run in runs}):
        mine = [run for run in runs if run.job == job]
        outcomes = Counter(run.status.value for run in mine)
        said = ", ".join(f"{count} {status}" for status, count in outcomes.most_common())
        gone = [_files_and_bytes(schedule, run, _GONE) for run in mine]
        files, size = (sum(column) for column in zip(*gone, strict=True))
        yield _line(job, mine[0].service, str(len(mine)), said, f"{files:,}", f"{size:,}")


def _files_and_bytes(schedule: Schedule, run: JobRun, names: Sequence[str]) -> tuple[int, int]:
    """What the report of a run says of some outcomes; services that do more have a report on files in theirs."""
    report = json.loads(schedule.run(run.id).report or "{}")
    found = [tally for name in names if isinstance(tally := report.get("collection", report).get(name), dict)]
    return sum(tally.get("files", 0) for tally in found), sum(tally.get("bytes", 0) for tally in found)


def _line(*cells: str) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, _WIDTHS, strict=True)).rstrip()


def spark_session(folder: Path) -> SparkSession:
    """A session with Iceberg, which has the catalog of the lake."""
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.jars.packages", PACKAGES)
        .config("spark.ui.enabled", "false")
    )
    for name, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        ".uri": f"jdbc:sqlite:{folder}/catalog.db",
        ".jdbc.schema-version": "V1",
        ".warehouse": f"file://{folder}/warehouse",
        ".cache-enabled": "false",  # because the lake is dated back
    }.items():
        builder = builder.config(f"spark.sql.catalog.{CATALOG}{name}", value)
    return builder.getOrCreate()


if __name__ == "__main__":
    sys.exit(main())
