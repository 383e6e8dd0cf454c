"""``python -m benchmark mark``: the mark over the repository of a computed lake (:mod:`benchmark.history`).

Each size is a process of its own. Content versions are counted, or with ``--store`` stored in SQLite by the whole
service. The exit code is 1 where a commit was not counted once, or was read again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmark.history import MarkCost
from benchmark.measuring import measure

_COLUMNS = ("commits", "references", "read", "versions", "seconds", "processor seconds", "peak MB", "bytes per commit")


def main(arguments: Sequence[str]) -> int:
    """Measures, and shows."""
    parser = argparse.ArgumentParser(prog="benchmark mark", description=__doc__)
    parser.add_argument(
        "--commits",
        type=int,
        action="append",
        metavar="N",
        help="of the default branch; may be repeated; default: 100,000 and 1,000,000 (10,000,000 takes minutes)",
    )
    parser.add_argument("--references", type=int, default=10_000, metavar="N", help="branches and tags; default 10,000")
    parser.add_argument("--parallelism", type=int, default=4, metavar="N", help="--identify-parallelism; default 4")
    parser.add_argument("--store", action="store_true", help="store the content versions in SQLite")
    given = parser.parse_args(arguments)
    costs = [_run(given, commits) for commits in given.commits or (100_000, 1_000_000)]
    show(costs, Console(width=160))
    return 0 if all(cost.is_right for cost in costs) else 1


def _run(given: argparse.Namespace, commits: int) -> MarkCost:
    """One mark in its own process."""
    with tempfile.TemporaryDirectory(prefix="nessie-gc-benchmark-") as folder:
        said = {
            "commits": commits,
            "references": given.references,
            "parallelism": given.parallelism,
            "database": str(Path(folder) / "store.db") if given.store else None,
        }
        modules = os.pathsep.join(filter(None, [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH")]))
        command = (sys.executable, "-m", "benchmark.history", json.dumps(said))
        measured = measure(command, environment={**os.environ, "PYTHONPATH": modules})
    return MarkCost(**json.loads(measured.output))


def show(costs: Iterable[MarkCost], console: Console) -> None:
    """Prints one table."""
    table = Table()
    for name in _COLUMNS:
        table.add_column(name, justify="right")
    for cost in costs:
        wrong = "" if cost.is_right else f" != {cost.expected:,}"
        table.add_row(
            f"{cost.commits:,}{wrong}",
            f"{cost.references:,}",
            f"{cost.fetched:,}",
            f"{cost.versions:,}",
            f"{cost.seconds:.1f}",
            f"{cost.processor_seconds:.1f}",
            f"{cost.peak_megabytes:,.0f}",
            f"{cost.grown_megabytes * 1e6 / cost.commits:,.0f}",
        )
    console.print(table)
