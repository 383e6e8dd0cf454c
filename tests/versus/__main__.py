"""``python -m versus``: Iceberg's procedures beside ours, case by case, in one table.

Each case is written by Spark, copied aside, handled by the procedure, put back to the same paths, and handled by ours.
What each deleted of what was there is compared path by path. The exit code is 1 where they differ in anything that is
not known; how long anything took never fails.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nessie_gc_core.demo.spark import iceberg_session
from nessie_gc_core.engines.local import LocalEngine
from versus.catalogue import all_cases
from versus.compare import Result, compare
from versus.showing import show, show_speed
from versus.speed import Measured, measure, measurements, warm_up
from versus.stage import with_sqlite

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main() -> int:
    """Compares, and shows."""
    arguments = _parser().parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nessie-gc-versus-", dir=arguments.folder))
    spark = iceberg_session(log=folder / "spark.log", settings=with_sqlite())
    try:
        results = [] if arguments.only_speed else _compared(spark, folder, arguments.case)
        measured = _measured(spark, folder, arguments) if arguments.speed or arguments.only_speed else []
    finally:
        spark.stop()
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if results:
        show(results)
    if measured:
        show_speed(measured)
    right = [each.is_right for each in results] + [each.is_right for each in measured]
    return 0 if all(right) else 1


def _compared(spark: SparkSession, folder: Path, wanted: Sequence[str]) -> list[Result]:
    results = []
    for number, case in enumerate(all_cases()):
        if wanted and not any(text in case.title for text in wanted):
            continue
        result = compare(case, spark, folder / f"{number}", f"versus{number}", lambda: LocalEngine(workers=2))
        _say(f"{case.title}: {result.verdict}")
        if result.is_right:
            shutil.rmtree(folder / f"{number}")
        results.append(result)
    return results


def _measured(spark: SparkSession, folder: Path, arguments: argparse.Namespace) -> list[Measured]:
    warm_up(spark, folder)
    results = []
    for number, measurement in enumerate(measurements(arguments.scale)):
        name = f"speed{number}"
        results.append(measure(measurement, spark, folder / name, name, repeat=arguments.repeat))
        _say(f"{measurement.name}: {results[-1].verdict}")
    return results


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="versus", description=__doc__)
    parser.add_argument("--case", action="append", default=[], metavar="TEXT", help="only cases with this in the title")
    parser.add_argument("--speed", action="store_true", help="measure on 100,000 files as well")
    parser.add_argument("--only-speed", action="store_true", help="measure, and compare no cases")
    parser.add_argument("--scale", type=float, default=1.0, help="measure on so many times 100,000 files; default: 1")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each; the fastest counts")
    parser.add_argument("--folder", type=Path, help="where lakes are written; default: the temporary folder")
    parser.add_argument("--keep", action="store_true", help="keep the lakes of cases that differ")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
