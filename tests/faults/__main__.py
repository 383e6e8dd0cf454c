"""``python -m faults``: the table of faults. ``--only TEXT`` tries those whose name has the text."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from faults.cases import faults, kills, kills_in_quarantine, kills_of_hidden_files, kills_of_tagged_files
from faults.lake import lake
from faults.quarantined import killed_in_quarantine
from faults.restarts import restarted, restarts
from faults.trying import Result, killed, with_fault


def main() -> int:
    """Tries all, prints the table; the exit code is 1 if a file was lost, or left, or not told of rightly."""
    parser = argparse.ArgumentParser(prog="python -m faults", description=__doc__)
    parser.add_argument("--only", default="", help="only faults whose name has this text")
    only = parser.parse_args().only
    results: list[Result] = []
    with tempfile.TemporaryDirectory(prefix="nessie-gc-faults-") as folder, lake(Path(folder)) as found:
        results.extend(_told(with_fault(found, fault)) for fault in faults() if only in fault.name)
        results.extend(_told(killed(found, kill)) for kill in kills() if only in kill.name)
        results.extend(_told(restarted(found, restart)) for restart in restarts() if only in restart.name)
        # Hidden files come last: from then on the bucket keeps versions.
        held = (*kills_in_quarantine(), *kills_of_tagged_files(), *kills_of_hidden_files())
        results.extend(_told(killed_in_quarantine(found, kill)) for kill in held if only in kill.name)
    _show(results)
    return 0 if results and all(result.is_right for result in results) else 1


def _told(result: Result) -> Result:
    """Says that a fault was tried, while the others wait."""
    sys.stderr.write(f"{result.name}: {'ok' if result.is_right else 'WRONG ' + '; '.join(result.problems)}\n")
    return result


def _show(results: list[Result]) -> None:
    table = Table(title="Collections on an object store with faults")
    for name in ("fault", "tries", "outcome", "files lost", "files leaked"):
        table.add_column(name, justify="left" if name in ("fault", "outcome") else "right")
    for result in results:
        table.add_row(result.name, f"{result.tries}", result.outcome, f"{result.lost}", f"{result.leaked}")
    Console(width=140).print(table)
    for result in results:
        for problem in result.problems:
            Console(width=200).print(f"{result.name}: {problem}", markup=False)


if __name__ == "__main__":
    sys.exit(main())
