"""How long services that rewrite plan over many tables of a catalog in SQLite.

``python -m benchmark manifests`` is about ``rewrite-manifests``, ``python -m benchmark compact`` about ``compact``.

Spark writes one table with ``--appends`` manifests; the others are copies of its metadata file and manifest list. The
tables are planned ``--repeat`` times, in a session that runs already. The exit code is 1 where a table was not planned.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

from rich.console import Console
from spark_defaults import FEW_TASKS
from versus.stage import NAMESPACE, Stage, with_sqlite

from nessie_gc_core import Collector
from nessie_gc_core.demo.spark import iceberg_session
from nessie_gc_core.services.compaction.report import Compacted, CompactionReport
from nessie_gc_core.services.manifests.report import ManifestsReport, Reorganized

CATALOG = "bench"
_PLANS: Mapping[str, Callable[[Collector], ManifestsReport | CompactionReport]] = {
    "manifests": lambda collector: collector.rewrite_manifests(CATALOG).report,
    "compact": lambda collector: collector.compact(CATALOG, skip_newer_than="PT0S", max_small_files=2.0).report,
}
"""What is measured."""


def main(service: str, arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog=f"benchmark {service}", description=__doc__)
    parser.add_argument("--tables", type=int, default=1000, metavar="N", help="how many there are; default 1000")
    parser.add_argument("--appends", type=int, default=100, metavar="N", help="manifests of each; default 100")
    parser.add_argument("--repeat", type=int, default=3, metavar="N", help="how often they are planned; default 3")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="nessie-gc-benchmark-") as name:
        folder = Path(name)
        session = iceberg_session(log=folder / "spark.log", settings={**FEW_TASKS, **with_sqlite()})
        try:
            stage = Stage(session, folder / "lake", CATALOG)
            _write(stage, given.appends)
            _copy(stage, given.tables - 1)
            with Collector(spark=session) as collector:
                reports = [_PLANS[service](collector) for _ in range(given.repeat)]
        finally:
            session.stop()
    _show(reports, given)
    return 0 if all(_is_right(report, given) for report in reports) else 1


def _write(stage: Stage, appends: int) -> None:
    stage.create(columns="id BIGINT, p INT", more="PARTITIONED BY (p)", commit_manifest_min__count__to__merge="100000")
    started = time.perf_counter()
    stage.append(*(f"({number}, {number % 7}), ({number}, {number % 5})" for number in range(appends)))
    sys.stderr.write(f"{appends} appends: {time.perf_counter() - started:.1f} s\n")


def _copy(stage: Stage, copies: int) -> None:
    """More tables, each with a metadata file and a manifest list of its own."""
    metadata = Path(stage.metadata_location().removeprefix("file:"))
    text = metadata.read_text(encoding="utf-8")
    last = stage.metadata()["snapshots"][-1]["manifest-list"]
    manifest_list = Path(last.removeprefix("file:")).read_bytes()
    with closing(sqlite3.connect(stage.folder / "catalog.db")) as connection:
        for number in range(copies):
            copied = metadata.with_name(f"copy-{number}.metadata.json")
            own = Path(last.removeprefix("file:")).with_name(f"snap-copy-{number}.avro")
            own.write_bytes(manifest_list)
            copied.write_text(text.replace(last, f"file:{own}"), encoding="utf-8")
            row = (CATALOG, NAMESPACE, f"t{number:05}", f"file:{copied}", None, "TABLE")
            connection.execute("INSERT INTO iceberg_tables VALUES (?, ?, ?, ?, ?, ?)", row)
        connection.commit()


def _is_right(report: ManifestsReport | CompactionReport, given: argparse.Namespace) -> bool:
    if isinstance(report, ManifestsReport):
        expected = [(Reorganized.REWRITTEN, given.appends)] * given.tables
        return expected == [(table.outcome, table.manifests) for table in report.tables]
    compacted = [(Compacted.REWRITTEN, True)] * given.tables
    return compacted == [
        (table.outcome, table.before is not None and table.before.data_files >= given.appends)
        for table in report.tables
    ]


def _show(reports: Sequence[ManifestsReport | CompactionReport], given: argparse.Namespace) -> None:
    manifests = given.tables * given.appends
    seconds = ", ".join(f"{report.seconds:.1f} s" for report in reports)
    Console().print(f"{given.tables:,} tables with {manifests:,} manifests: {seconds}")
