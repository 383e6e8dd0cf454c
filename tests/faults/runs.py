"""One run of the command line on a lake, and what it says of each file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from faults.lake import Lake

AGES = ("--min-age", "PT0S", "--no-age-floor")
_LONGEST_SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended."""

    exit_code: int
    said: str
    """The end of what it wrote to the screen."""


class Runs:
    """Runs that share a store of live sets and a file of outcomes."""

    def __init__(self, lake: Lake, folder: Path) -> None:
        self._lake = lake
        self._folder = folder
        self.outcomes = folder / "outcomes.jsonl"
        self.live_set = folder / "live-set.txt"

    def begin(self, properties: Mapping[str, str], command: str, *options: str) -> subprocess.Popen[str]:
        """Starts a command that reaches the bucket by these properties."""
        config = self._folder / "nessie-gc.toml"
        config.write_text(self._lake.settings(properties), encoding="utf-8")
        database = f"sqlite:///{self._folder}/live-sets.db"
        whole = [sys.executable, "-m", "nessie_gc_core", command, "--config", str(config), "--jdbc-url", database]
        return subprocess.Popen([*whole, *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def run(self, properties: Mapping[str, str], command: str, *options: str) -> Ended:
        """Runs a command to its end."""
        return ended(self.begin(properties, command, *options))

    def named(self) -> Counter[tuple[str, str]]:
        """How often the outcome file has each key with each outcome."""
        if not self.outcomes.exists():
            return Counter()
        rows = [json.loads(line) for line in self.outcomes.read_text(encoding="utf-8").splitlines()]
        bucket = f"s3://{self._lake.server.bucket}/"
        return Counter(((row["location"] + row["path"]).removeprefix(bucket), row["outcome"]) for row in rows)


def ended(process: subprocess.Popen[str]) -> Ended:
    """Waits for the end of a command."""
    _, said = process.communicate(timeout=_LONGEST_SECONDS)
    return Ended(exit_code=process.returncode, said=said[-2000:])
