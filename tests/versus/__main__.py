"""``python -m versus``: Iceberg's procedures beside ours, case by case, in one table.

Each case is written by Spark, copied aside, handled by the procedure, put back to the same paths, and handled by ours.
What each deleted of what was there is compared path by path. The exit code is 1 where they differ in anything that is
not known as a defect of the procedure.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from nessie_gc_core.demo.spark import iceberg_session
from nessie_gc_core.engines.local import LocalEngine
from versus.catalogue import all_cases
from versus.compare import Result, compare
from versus.showing import show
from versus.stage import WITH_SQLITE


def main() -> int:
    """Compares, and shows."""
    arguments = _parser().parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nessie-gc-versus-", dir=arguments.folder))
    results: list[Result] = []
    try:
        spark = iceberg_session(log=folder / "spark.log", settings={**WITH_SQLITE, "spark.default.parallelism": "2"})
        try:
            chosen = [
                case for case in all_cases() if not arguments.case or any(text in case.title for text in arguments.case)
            ]
            for number, case in enumerate(chosen):
                result = compare(case, spark, folder / f"{number}", f"versus{number}", lambda: LocalEngine(workers=2))
                results.append(result)
                sys.stderr.write(f"{case.title}: {result.verdict}\n")
                if result.is_right:
                    shutil.rmtree(folder / f"{number}")
        finally:
            spark.stop()
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    show(results)
    return 0 if all(result.is_right for result in results) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="versus", description=__doc__)
    parser.add_argument("--case", action="append", default=[], metavar="TEXT", help="only cases with this in the title")
    parser.add_argument("--folder", type=Path, help="where lakes are written; default: the temporary folder")
    parser.add_argument("--keep", action="store_true", help="keep the lakes of cases that differ")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
