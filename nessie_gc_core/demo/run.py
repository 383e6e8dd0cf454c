"""The demo from end to end."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from nessie_gc_core.demo.collector import (
    ALL_COMMITS,
    COLLECTOR,
    LIVE_COMMITS,
    Collection,
    arguments,
    restore,
    run,
)
from nessie_gc_core.demo.lake import STEPS, Lake
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.screen import FolderCount, Screen
from nessie_gc_core.demo.spark import check_requirements, iceberg_session, use_catalog
from nessie_gc_core.demo.verify import Reading, State, differences, read_states
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.report_format import with_format
from nessie_gc_core.testing.servers import NESSIE_VERSION, NessieServer


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What came back from quarantine."""

    states: int
    """How many states were read before the collection and after the restore, those that were collected included."""
    run: Collection
    differences: tuple[str, ...]
    """One line per state that does not read as before."""

    def problems(self, files: int) -> list[str]:
        """What went otherwise than it must: so many files come back, and all states read as before."""
        problems = list(self.differences)
        if self.run.exit_code:
            problems.append(f"the restore ended with exit code {self.run.exit_code}: {self.run.complaints}")
        if self.run.count("restored") != files:
            problems.append(f"{self.run.count('restored')} files were restored; {files} were in quarantine")
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What came of it."""

    states: int
    """How many live states were read before and after."""
    first: Collection
    second: Collection
    folders: tuple[FolderCount, ...]
    differences: tuple[str, ...]
    """One line per live state that does not read as before."""
    gone: str = "deleted"
    """The outcome of garbage: ``deleted``, or ``quarantined``."""
    restored: Restored | None = None
    """What came back from quarantine."""

    @property
    def problems(self) -> list[str]:
        """Everything that went otherwise than it must; empty in a good run."""
        gone, problems = self.gone, list(self.differences)
        for name, done in (("first", self.first), ("second", self.second)):
            if done.exit_code:
                problems.append(f"the {name} collection ended with exit code {done.exit_code}: {done.complaints}")
        if not self.first.count(gone):
            problems.append(f"the first collection {gone} nothing")
        found, last = self.second.count(gone), self.first.count("spared")  # metadata that alone shows a dropped table
        if found != last:
            problems.append(
                f"the second collection {gone} {found} files; it must find the {last} that the first spared"
            )
        taken = self.first.count(gone) + found
        return problems + ([] if self.restored is None else self.restored.problems(taken))


def run_demo(
    *,
    engine: str = "spark",
    folder: Path | None = None,
    console: Console | None = None,
    as_json: bool = False,
    quarantine: bool = False,
    program: Sequence[str] = COLLECTOR,
) -> int:
    """Writes a lake, collects its garbage, and proves that every live state still reads the same rows.

    Args:
        engine: the collector's engine.
        folder: where the lake is written, and stays; without one, a temporary folder that goes.
        console: where to print.
        as_json: print one object, and nothing else, to the console.
        quarantine: move garbage to a quarantine, restore it, and prove that the states that were collected read the
            same rows as before.
        program: the collector's command.

    Returns:
        The exit code: 0, or 1 where anything went otherwise than it must.

    Raises:
        ConfigurationError: Java, Spark or Nessie's server is missing (the message says what to install), or the
            folder has a lake already.
    """
    check_requirements()
    out = console or Console(highlight=False)
    screen = Screen(Console(quiet=True) if as_json else out)
    with _lake(folder, screen) as (lake, uri):
        steps = _Steps(lake, uri, engine, program, screen, quarantine=quarantine)
        result = steps.collect_and_compare()
    if as_json:
        out.print_json(json.dumps(with_format(_as_plain(result))))
    _conclude(result, screen)
    return 1 if result.problems else 0


@contextmanager
def _lake(folder: Path | None, screen: Screen) -> Iterator[tuple[Lake, str]]:
    with ExitStack() as stack:
        home = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nessie-gc-demo-")))
        home.mkdir(parents=True, exist_ok=True)
        warehouse = home.resolve() / "warehouse"
        if warehouse.exists():
            raise ConfigurationError(f"{warehouse} already exists; choose another folder for the demo's lake")
        nessie = NessieServer(log=home / "nessie.log")
        with screen.step(
            f"Nessie {NESSIE_VERSION} is starting (the first run downloads 245 MB)", done="Nessie answers"
        ):
            stack.enter_context(nessie)
        with screen.step("Spark is starting (the first run downloads Iceberg)", done="Spark with Iceberg answers"):
            spark = iceberg_session(log=home / "spark.log")
            stack.callback(spark.stop)
            use_catalog(spark, nessie.uri, warehouse)
        screen.heading(f"A lake in {warehouse}")
        lake = Lake(spark=spark, references=References(nessie.uri), warehouse=warehouse)
        for step in STEPS:
            with screen.step(step.title):
                step.run(lake)
        yield lake, nessie.uri


class _Steps:
    """Collects the garbage of a lake, and compares what its states read."""

    def __init__(
        self, lake: Lake, uri: str, engine: str, program: Sequence[str], screen: Screen, *, quarantine: bool
    ) -> None:
        self._lake, self._uri, self._engine, self._program, self._screen = lake, uri, engine, program, screen
        self._home = lake.warehouse.parent
        self._quarantine = self._home / "quarantine" if quarantine else None

    def collect_and_compare(self) -> DemoResult:
        """All steps."""
        screen, lake = self._screen, self._lake
        gone = "deleted" if self._quarantine is None else "quarantined"
        screen.heading("The collection")
        with screen.step("reading every live state"):
            before = read_states(lake, commits=LIVE_COMMITS)
        everything: dict[State, Reading] = {}
        if self._quarantine is not None:
            with screen.step("reading every other state, too"):
                everything = read_states(lake, commits=ALL_COMMITS)
        stored = _stored(lake)
        shown = arguments("URI", engine=self._engine, quarantine=self._quarantine)
        with screen.step(f"nessie-gc {' '.join(shown)}"):
            first = self._collect()
        screen.report(first)
        folders = tuple(_folder_counts(stored, _stored(lake), before))
        screen.heading("Files before and after (without checksum sidecars)")
        screen.folders(folders, gone=gone)
        screen.heading("The proof")
        with screen.step("running the same command again"):
            second = self._collect()
        screen.line(f"  {gone}: {second.count(gone)} files")
        with screen.step("reading every live state again"):
            after = read_states(lake, commits=LIVE_COMMITS)
        return DemoResult(
            states=len(before),
            first=first,
            second=second,
            folders=folders,
            differences=tuple(differences(before, after)),
            gone=gone,
            restored=None if self._quarantine is None else self._restore(everything),
        )

    def _collect(self) -> Collection:
        command = arguments(self._uri, engine=self._engine, quarantine=self._quarantine)
        return run(command, folder=self._home, program=self._program)

    def _restore(self, before: Mapping[State, Reading]) -> Restored:
        """Brings everything back, and reads the states that were collected."""
        screen = self._screen
        screen.heading("The way back")
        with screen.step(f"nessie-gc {' '.join(restore('URI', engine=self._engine))}"):
            back = run(restore(self._uri, engine=self._engine), folder=self._home, program=self._program)
        screen.report(back)
        with screen.step("reading every state again"):
            after = read_states(self._lake, commits=ALL_COMMITS)
        return Restored(states=len(before), run=back, differences=tuple(differences(before, after)))


def _stored(lake: Lake) -> dict[str, dict[Path, int]]:
    """Folder name to its files and their sizes, without checksum sidecars."""
    return {
        folder.name: {
            path: path.stat().st_size
            for path in folder.rglob("*")
            if path.is_file() and not (path.name.startswith(".") and path.name.endswith(".crc"))
        }
        for folder in sorted(lake.warehouse.joinpath("shop").iterdir())
    }


def _folder_counts(
    before: Mapping[str, Mapping[Path, int]], after: Mapping[str, Mapping[Path, int]], live: Mapping[State, Reading]
) -> Iterator[FolderCount]:
    for folder, files in before.items():
        users = sorted({state.reference for state in live if f"/{folder}/" in state.metadata_location})
        table = folder.rpartition("_")[0]
        left = after.get(folder, {})
        yield FolderCount(
            name=table,
            before=len(files),
            after=len(left),
            after_bytes=sum(left.values()),
            why=f"needed by {', '.join(users)}" if users else "",
        )


def _conclude(result: DemoResult, screen: Screen) -> None:
    for problem in result.problems:
        screen.line(f"  {problem}", style="red")
    if result.problems:
        screen.verdict(good=False, text="Failed: see the lines above.")
    else:
        moved = "deleted" if result.restored is None else "moved to a quarantine"
        back = f" After the restore, all {result.restored.states} states do." if result.restored is not None else ""
        screen.verdict(
            good=True,
            text=f"{result.first.count(result.gone)} files were {moved}; all {result.states} live states of all "
            f"branches and tags return the same rows as before.{back}",
        )


def _as_plain(result: DemoResult) -> dict[str, object]:
    return {
        "states": result.states,
        "first": result.first.report,
        "second": result.second.report,
        "restored": None if result.restored is None else result.restored.run.report,
        "folders": [dataclasses.asdict(count) for count in result.folders],
        "problems": result.problems,
    }
