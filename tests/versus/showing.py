"""The results as one table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from versus.compare import Result


def show(results: Sequence[Result]) -> None:
    """Prints one table: case, what each side deleted, how long it took, and the verdict."""
    table = Table(title="Iceberg's Spark procedures beside ours (files deleted, without Hadoop's sidecars)")
    for name in ("procedure", "case"):
        table.add_column(name)
    for name in ("theirs", "ours", "their sidecars", "our sidecars", "their s", "our s"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for result in results:
        theirs, ours = result.theirs, result.ours
        counts = (len(theirs.deleted), len(ours.deleted), len(theirs.sidecars), len(ours.sidecars))
        seconds = (f"{theirs.seconds:.2f}", f"{ours.seconds:.2f}")
        table.add_row(result.case.procedure.value, result.case.name, *map(str, counts), *seconds, result.verdict)
    Console(width=200).print(table)
    wrong = sum(not result.is_right for result in results)
    Console().print(f"{len(results)} cases, {wrong} with a difference that is not known")
