"""The results as one table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from versus.compare import Result
from versus.speed import Measured


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


def show_speed(results: Sequence[Measured]) -> None:
    """Prints one table."""
    table = Table(title="Seconds of the same work on the same session and machine; of ours how many times faster")
    for name in ("procedure", "case"):
        table.add_column(name)
    for name in ("files", "theirs", "ours", "their s", "our s on Spark", "our s, local"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for each in results:
        ours_ = [f"{done.seconds:.2f} (x{each.times(done):.1f})" for done in (each.on_spark, each.local)]
        counts = [f"{number:,}" for number in (each.files, len(each.theirs.deleted), len(each.local.deleted))]
        name = each.measurement.procedure.value
        table.add_row(name, each.measurement.name, *counts, f"{each.theirs.seconds:.2f}", *ours_, each.verdict)
    Console(width=200).print(table)
    for each in results:
        for engine, done in (("Spark", each.on_spark), ("local", each.local)):
            phases = ", ".join(f"{name} {seconds:.2f}" for name, seconds in done.phases.items())
            peak = "" if done.peak_mb is None else f"; this process had {done.peak_mb} MB at most"
            Console(width=200).print(f"{each.measurement.name}, {engine}: {phases}{peak}")
