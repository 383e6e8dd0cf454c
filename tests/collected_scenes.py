"""One run over all scenes on a disk; every test looks at its own scene."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collecting import on_disk
from nessie_gc_memory import MemoryLake
from scenes import Scene, write_scenes

from nessie_gc_core.dataset import Engine
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class CollectedScene:
    """What became of one scene."""

    scene: Scene
    stored: set[str]
    """What is on the disk now, links left out."""
    outcomes: Mapping[str, str]
    """Path to outcome, checksum sidecars included."""
    unknown: Mapping[str, str]
    unreadable: Mapping[str, str]
    unread: Mapping[str, str]
    lost: set[str]

    @property
    def gone(self) -> set[str]:
        """What the run says that it deleted."""
        return {path for path, outcome in self.outcomes.items() if outcome == "deleted"}


@dataclass(frozen=True)
class CollectedScenes:
    """What became of all scenes."""

    report: GcReport
    rows: Rows
    """The outcome file, paths as in memory."""
    folder: Path
    scenes: Mapping[str, Scene]
    before: set[str]

    def result(self, name: str) -> CollectedScene:
        scene = self.scenes[name]
        home = scene.path("")
        folder = self.folder / "wh" / name
        return CollectedScene(
            scene=scene,
            stored={
                home + str(path.relative_to(folder))
                for path in folder.rglob("*")
                if path.is_file() and not any(parent.is_symlink() for parent in (path, *path.parents))
            },
            outcomes={row["path"]: row["outcome"] for row in self.rows if row["path"].startswith(home)},
            unknown=_within(home, self.readable(self.report.unknown)),
            unreadable=_within(home, self.readable(self.report.unreadable)),
            unread=self.readable(self.report.unread),
            lost={self.in_memory(file.path) for file in self.report.lost_files if f"/wh/{name}/" in file.path},
        )

    def readable(self, reasons: Mapping[str, str]) -> dict[str, str]:
        return {self.in_memory(location): self.in_memory(reason) for location, reason in reasons.items()}

    def in_memory(self, text: str) -> str:
        """Text with the paths of this disk as they were in memory."""
        return text.replace(f"file://{self.folder}/", "memory://")


def _within(home: str, reasons: Mapping[str, str]) -> dict[str, str]:
    return {location: reason for location, reason in reasons.items() if home in location or home in reason}


def collect_scenes(engine: Engine, sweep: SweepParameters, folder: Path) -> CollectedScenes:
    """Writes all scenes to a disk and collects them, heads only."""
    root = folder.resolve() / "a" / "lake"
    lake = MemoryLake(f"scenes-{root}")
    scenes = write_scenes(lake)
    before = lake.paths()
    services = on_disk(lake, root, engine).read_before()
    for scene in scenes.values():
        scene.finish(root / "wh" / scene.name)
    outcomes = root.parent / "outcomes.jsonl"
    cutoffs = [cutoff for scene in scenes.values() for cutoff in scene.cutoffs]
    report = services.collect("1", *cutoffs, sweep=replace(sweep, outcomes_to=str(outcomes)))
    rows = [json.loads(line) for line in outcomes.read_text(encoding="utf-8").split("\n") if line]
    collected = CollectedScenes(report, [], root, scenes, before)
    for row in rows:
        row["path"] = collected.in_memory(row.pop("location") + row["path"])
        row["unit"] = collected.in_memory(row["unit"])
        collected.rows.append(row)
    return collected
