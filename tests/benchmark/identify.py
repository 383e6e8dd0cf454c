"""``python -m benchmark identify``: ``identify-unreferenced`` on simulated lakes of two sizes, three times on each.

The first run has no expansion cache, the second fills one, and the third, which finds the lake unchanged, uses it. Each
is a whole process: the session starts, and the table of assets is written. The exit code is 1 where a run named other
files than the dead ones.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lakes import CommittedLake, build_lake
from pyiceberg.catalog.sql import SqlCatalog
from rich.console import Console
from rich.table import Table

from benchmark.measuring import Measured, measure
from benchmark.shape import on_disk, shape_from, shape_options
from nessie_gc_core.demo.spark import iceberg_jar
from nessie_gc_core.testing.servers import JavaRole, NessieServer, find_java

CATALOG = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentifyRun:
    """One run, and what came of it."""

    engine: str
    number: int
    lake: CommittedLake
    measured: Measured
    report: dict[str, Any]
    expected: int

    @property
    def is_right(self) -> bool:
        """Whether it found exactly the dead files."""
        return bool(self.report["assets"]["files"] == self.expected)


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark identify", description=__doc__)
    shape_options(parser)
    parser.add_argument("--engine", action="append", choices=("local", "spark"), help="may be repeated; default: both")
    parser.add_argument("--times", type=int, default=10, metavar="N", help="of the larger lake the appends; default 10")
    parser.add_argument("--keep-commits", type=int, default=1000, help="the cut-off policy of every branch")
    parser.add_argument("--launcher", default="", help="command to run instead of nessie-gc beside this Python")
    parser.add_argument("--folder", type=Path, help="where lakes are built; default: the temporary folder")
    parser.add_argument("more", nargs="*", help="more arguments of nessie-gc, after --")
    given = parser.parse_args(arguments)
    runs = list(_runs(given))
    _show(runs)
    return 0 if all(run.is_right for run in runs) else 1


def _runs(given: argparse.Namespace) -> Iterator[IdentifyRun]:
    folder = Path(tempfile.mkdtemp(prefix="nessie-gc-benchmark-", dir=given.folder))
    shape = shape_from(given)
    try:
        for number, times in enumerate(dict.fromkeys((1, given.times))):
            place = folder / f"{number}"
            with NessieServer(heap="1g") as nessie:
                larger = replace(shape, appends=shape.appends * times)
                lake = build_lake(larger.spec(on_disk(place)), nessie.uri)
                for engine in given.engine or ("local", "spark"):
                    yield from _thrice(given, engine, lake, folder / f"{number}-{engine}")
            shutil.rmtree(place)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _thrice(given: argparse.Namespace, engine: str, lake: CommittedLake, tables: Path) -> Iterator[IdentifyRun]:
    tables.mkdir()
    SqlCatalog(CATALOG, **_catalog(tables)).close()  # makes its database
    expected = len(lake.dead_paths(given.keep_commits))
    for number in (1, 2, 3):
        command = _command(given, engine, lake, tables, cached=number > 1)
        measured = measure(command, environment=_environment(tables))
        report = json.loads(measured.output)
        run = IdentifyRun(engine=engine, number=number, lake=lake, measured=measured, report=report, expected=expected)
        sys.stderr.write(f"{engine}, run {number}, {lake.stored_files} files: {measured.seconds:.1f} s\n")
        yield run


def _command(given: argparse.Namespace, engine: str, lake: CommittedLake, tables: Path, *, cached: bool) -> list[str]:
    launcher = shlex.split(given.launcher) or [str(Path(sys.executable).with_name("nessie-gc"))]
    command = [*launcher, "identify-unreferenced", "-u", lake.nessie_uri, "--inmemory", "--engine", engine, "--json"]
    command += ["--default-cutoff", str(given.keep_commits), "--table", f"{CATALOG}.gc.{engine}_assets"]
    command += ["--branch", f"assets_of_{engine}"]
    command += ["--expansion-cache", f"gc.{engine}_manifests"] if cached else []
    if engine == "local":
        return [*command, "--no-own-branch", *given.more]
    catalog = f"spark.sql.catalog.{CATALOG}"
    settings = {
        **iceberg_jar(),
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "nessie",
        f"{catalog}.uri": lake.nessie_uri,
        f"{catalog}.ref": "main",
        f"{catalog}.warehouse": tables.as_uri(),
    }
    return [
        *command,
        *(part for key, value in settings.items() for part in ("--spark-conf", f"{key}={value}")),
        *given.more,
    ]


def _catalog(tables: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{tables}/catalog.db", "warehouse": tables.as_uri()}


def _environment(tables: Path) -> dict[str, str]:
    catalog = {f"PYICEBERG_CATALOG__{CATALOG.upper()}__{key.upper()}": value for key, value in _catalog(tables).items()}
    java = {"JAVA_HOME": str(find_java(JavaRole.SPARK).home)}
    return {**os.environ, "PYSPARK_PYTHON": os.environ.get("PYSPARK_PYTHON", sys.executable), **java, **catalog}


def _show(runs: Sequence[IdentifyRun]) -> None:
    table = Table(title="identify-unreferenced, whole process; no expansion cache, an empty one, a full one")
    for name in ("engine", "files", "run", "seconds", "metadata files read", "manifests remembered"):
        table.add_column(name, justify="left" if name == "engine" else "right")
    for name in ("mark", "expand", "list", "subtract", "driver MB", "workers MB", "JVM MB", "assets"):
        table.add_column(name, justify="right")
    for run in runs:
        collection, peak = run.report["collection"], run.measured.peak_megabytes
        found = run.report["assets"]["files"]
        table.add_row(
            run.engine,
            str(run.lake.stored_files),
            str(run.number),
            f"{run.measured.seconds:.1f}",
            str(collection["files_expanded"]),
            str(collection["files_cached"]),
            *(f"{collection['phases'].get(phase, 0):.1f}" for phase in ("mark", "expand", "list", "subtract")),
            *(f"{peak.get(part, 0):.0f}" for part in ("driver", "workers", "jvm")),
            str(found) if run.is_right else f"{found} != {run.expected}",
        )
    Console(width=200).print(table)
