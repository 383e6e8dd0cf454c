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

from nessie_gc_core.demo.collector import COLLECTOR, LIVE_COMMITS, Collection, arguments, collect
from nessie_gc_core.demo.lake import STEPS, Lake
from nessie_gc_core.demo.references import References
from nessie_gc_core.demo.screen import FolderCount, Screen
from nessie_gc_core.demo.spark import check_requirements, iceberg_session, use_catalog
from nessie_gc_core.demo.verify import Reading, State, differences, read_states
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers import NESSIE_VERSION, NessieServer


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

    @property
    def problems(self) -> list[str]:
        """Everything that went otherwise than it must; empty in a good run."""
        problems = list(self.differences)
        for name, run in (("first", self.first), ("second", self.second)):
            if run.exit_code:
                problems.append(f"the {name} collection ended with exit code {run.exit_code}: {run.complaints}")
        if not self.first.count("deleted"):
            problems.append("the first collection deleted nothing")
        if self.second.count("deleted"):
            problems.append(f"the second collection deleted {self.second.count('deleted')} files; it must delete none")
        return problems


def run_demo(
    *,
    engine: str = "spark",
    folder: Path | None = None,
    console: Console | None = None,
    as_json: bool = False,
    program: Sequence[str] = COLLECTOR,
) -> int:
    """Writes a lake, collects its garbage, and proves that every live state still reads the same rows.

    Args:
        engine: the collector's engine.
        folder: where the lake is written, and stays; without one, a temporary folder that goes.
        console: where to print.
        as_json: print one object, and nothing else, to the console.
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
        result = _collect_and_compare(lake, uri, engine, program, screen)
    if as_json:
        out.print_json(json.dumps(_as_plain(result)))
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


def _collect_and_compare(lake: Lake, uri: str, engine: str, program: Sequence[str], screen: Screen) -> DemoResult:
    screen.heading("The collection")
    with screen.step("reading every live state"):
        before = read_states(lake, commits=LIVE_COMMITS)
    stored = _stored(lake)
    with screen.step(f"nessie-gc {' '.join(arguments('URI', engine=engine))}"):
        first = collect(uri, engine=engine, folder=lake.warehouse.parent, program=program)
    screen.report(first)
    folders = tuple(_folder_counts(stored, _stored(lake), before))
    screen.heading("Files before and after (without checksum sidecars)")
    screen.folders(folders)
    screen.heading("The proof")
    with screen.step("running the same command again"):
        second = collect(uri, engine=engine, folder=lake.warehouse.parent, program=program)
    screen.line(f"  deleted: {second.count('deleted')} files")
    with screen.step("reading every live state again"):
        after = read_states(lake, commits=LIVE_COMMITS)
    return DemoResult(
        states=len(before), first=first, second=second, folders=folders, differences=tuple(differences(before, after))
    )


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
        screen.verdict(
            good=True,
            text=f"{result.first.count('deleted')} files were deleted; all {result.states} live states of all "
            "branches and tags return the same rows as before.",
        )


def _as_plain(result: DemoResult) -> dict[str, object]:
    return {
        "states": result.states,
        "first": result.first.report,
        "second": result.second.report,
        "folders": [dataclasses.asdict(count) for count in result.folders],
        "problems": result.problems,
    }
