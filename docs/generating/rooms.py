"""The rooms of the core and the arrows between them, read from the imports and from import-linter's contract."""

from __future__ import annotations

import functools
import graphlib
import tomllib
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

import grimp

CORE = "nessie_gc_core"
ROOT = Path(__file__).parents[2]


@functools.cache
def arrows() -> Mapping[str, Set[str]]:
    """Each room of the core and the rooms that its modules import; ``__main__``, which only calls one, is left out."""
    graph = grimp.build_graph(CORE, cache_dir=None)
    rooms = {child: child.rpartition(".")[2] for child in sorted(graph.find_children(CORE))}
    found: dict[str, Set[str]] = {}
    for room, name in rooms.items():
        if not name.startswith("_"):
            imported = {
                target
                for module in {room} | graph.find_descendants(room)
                for target in graph.find_modules_directly_imported_by(module)
            }
            names = {target.split(".")[1] for target in imported if target != CORE}
            found[name] = frozenset(names - {name})
    return found


def drawn(imports: Mapping[str, Set[str]]) -> list[tuple[str, str]]:
    """The arrows that no chain of other arrows shows already."""
    reach: dict[str, set[str]] = {}
    for room in _from_below(imports):
        reach[room] = {below for target in imports[room] for below in {target} | reach[target]}
    return [
        (room, target)
        for room, targets in imports.items()
        for target in sorted(targets)
        if not any(target in reach[other] for other in targets if other != target)
    ]


@functools.cache
def layers() -> list[list[str]]:
    """The rooms from top to bottom as the contract has them.

    A room that the contract does not place stands above the highest that it imports.
    """
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    given = max((contract["layers"] for contract in contracts if contract["type"] == "layers"), key=len)
    rows = [[name.strip().strip("()").removeprefix(f"{CORE}.") for name in layer.split("|")] for layer in given]
    found = [[name for name in row if name in arrows()] for row in rows]
    placed = {name: number for number, row in enumerate(found) for name in row}
    for room in _from_below(arrows()):
        if room not in placed:
            placed[room] = min(placed[target] for target in arrows()[room]) - 1
            found[placed[room]].append(room)
    return [row for row in found if row]


def _from_below(imports: Mapping[str, Set[str]]) -> Iterable[str]:
    return graphlib.TopologicalSorter({room: set(targets) for room, targets in imports.items()}).static_order()


def plugin_imports() -> Mapping[str, Set[str]]:
    """Each plugin of this repository and the rooms of the core that it imports; an empty name is the core itself."""
    found = (path.parent.name.replace("-", "_") for path in ROOT.glob("plugins/*/pyproject.toml"))
    packages = sorted(package for package in found if package != "nessie_gc_airflow")  # Airflow loads it, not the core
    graph = grimp.build_graph(CORE, *packages, cache_dir=None)
    return {
        package.replace("_", "-"): frozenset(
            target.partition(".")[2].partition(".")[0]
            for module in {package} | graph.find_descendants(package)
            for target in graph.find_modules_directly_imported_by(module)
            if target.startswith(f"{CORE}")
        )
        for package in packages
    }
