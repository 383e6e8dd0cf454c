"""A plugin that notes which process opens, lists and removes which file: proof of where the work is done.

It is installed as any plugin, by an entry point, and writes beside itself one file for each process.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nessie_gc_core import hookimpl
from nessie_gc_core.model.files import FileReference

SPARED = "spared-by-the-witness"
"""Part of the name of a file that the plugin's veto keeps."""
_EVENTS = ("open", "os.scandir", "os.remove")
_NOTES = "notes"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing that a process did."""

    pid: int
    folder: str
    """The working directory of the process; each executor of a cluster has its own."""
    event: str
    """As Python's audit events are called."""
    path: str
    """As it was given; what is removed has its name only."""


def install(site: Path, warehouse: Path) -> None:
    """Makes a folder of packages with this plugin, which notes what is done in a warehouse."""
    described = site / "nessie_gc_witness-0.1.0.dist-info"
    described.mkdir(parents=True)
    shutil.copy(__file__, site / "nessie_gc_witness.py")
    (site / "warehouse").write_text(str(warehouse), encoding="utf-8")
    (site / _NOTES).mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: nessie-gc-witness\nVersion: 0.1.0\n")
    (described / "entry_points.txt").write_text("[nessie_gc]\nwitness = nessie_gc_witness\n")


def take_notes(site: Path) -> list[Note]:
    """What all processes noted, and forgets it."""
    notes = []
    for file in sorted((site / _NOTES).iterdir()):
        notes += [Note(*json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
        file.unlink()
    return notes


@hookimpl
def nessie_gc_veto_deletion(location: str, files: Sequence[FileReference]) -> Mapping[str, str] | None:
    """Keeps one file."""
    return {file.path: "the witness keeps it" for file in files if SPARED in file.path}


def _watch(site: Path) -> None:
    """Notes from now on, in this process, what is done in the warehouse; what is removed is known by a handle only."""
    warehouse = (site / "warehouse").read_text(encoding="utf-8")

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event not in _EVENTS or not isinstance(arguments[0], str):
            return
        if event == "os.remove" or arguments[0].startswith(warehouse):
            line = json.dumps([os.getpid(), str(Path.cwd()), event, arguments[0]])
            with (site / _NOTES / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as notes:
                notes.write(line + "\n")

    sys.addaudithook(note)


if __name__ == "nessie_gc_witness":
    _watch(Path(__file__).parent)
