"""The service ``make-lake``: describes a computed lake, writes it or its settings, serves it."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import Service
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.repository import ICEBERG_TABLE
from nessie_gc_core.model.text import shown, size_text
from nessie_gc_memory.mock.commits import commit_records
from nessie_gc_memory.mock.folders import write_lake
from nessie_gc_memory.mock.lake import MockLake
from nessie_gc_memory.mock.oracle import MockCounts, MockOracle
from nessie_gc_memory.mock.spec import MOCK_TABLE, SCHEME, MockLakeSpec

if TYPE_CHECKING:
    from rich.text import Text

_SETTINGS = """\
# A computed lake, written by nessie-gc make-lake.
default-cutoff = {policy}
engine = "local"
inmemory = true

"""


class Told(Protocol):
    """What this service asks of a run."""

    def tell(self, phase: str, done: int, total: int | None) -> None:
        """Tells progress."""


@options
class MakeLakeParameters(ConnectorOptions):
    """The lake, and what is done with it; names of options are settings of all commands, so they all say ``lake``."""

    lake_option: Mapping[str, str] = option(
        {},
        flag="-l",
        metavar="KEY=VALUE,...",
        help="Option of the lake, such as commits=1000; those of the connectors 'mock'. May be repeated.",
    )
    lake_policy: str = option(
        "NONE", help="Cut-off policy for which the garbage is counted: NONE, a number of commits, or an instant."
    )
    lake_config: str | None = option(
        None,
        metavar="FILE",
        help="Write the settings with which the lake is collected to this new file.",
    )
    lake_folder: str | None = option(
        None,
        metavar="FOLDER",
        help="Write the files of the lake to this new folder, as Iceberg tables there.",
    )
    lake_commits: str | None = option(
        None,
        metavar="FILE",
        help="Write the commits of the lake to this new file, as JSON lines. "
        "Needs --lake-folder, --serve-lake or another root than mock://.",
    )
    serve_lake: timedelta | None = option(
        None, metavar="DURATION", help="Serve it as an S3 store on loopback for this long, such as PT8H."
    )
    serve_lake_port: int = option(0, help="Port of that store; 0: a free one.", minimum=0, maximum=65_535)

    def lake_spec(self) -> MockLakeSpec:
        """The lake; one that is served has a bucket, and one that is written has its folder as its root.

        Both, and one whose commits are written, are read as Iceberg tables unless the options say otherwise.

        Raises:
            ConfigurationError: an option of the lake is unknown, or has a wrong value; or commits are to name files
                that only this plugin reads.
        """
        spec = MockLakeSpec.from_mapping(self.lake_option)
        has_files = self.serve_lake is not None or self.lake_folder is not None
        if not has_files and self.lake_commits is None:
            return spec
        if spec.root.startswith(f"{SCHEME}://"):
            if not has_files:
                raise ConfigurationError(
                    f"`lake_commits` would name files of {spec.root}, which no table reader finds: "
                    "use --lake-folder or --serve-lake, or give the lake another root"
                )
            spec = replace(spec, root=self._root(spec.root.partition("://")[2]))
        return replace(spec, content_type=ICEBERG_TABLE) if spec.content_type == MOCK_TABLE else spec

    def _root(self, place: str) -> str:
        """Where tools find the files."""
        if self.serve_lake is None and self.lake_folder is not None:
            return f"file://{Path(self.lake_folder).absolute()}"
        return f"s3://{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeLakeReport:
    """A computed lake in numbers."""

    settings: str
    """The tables of a configuration file with which it is collected."""
    counts: MockCounts
    """What a collector finds."""
    policy: str
    """The cut-off policy to which the counts belong."""
    endpoint: str | None = None
    """The URL at which it was served."""
    written: int | None = None
    """Files that were written to a folder."""
    exit_code: ClassVar[int] = 0

    def to_dict(self) -> Mapping[str, object]:
        """As JSON shows it."""
        done = {"endpoint": self.endpoint, "written": self.written}
        given = {name: value for name, value in done.items() if value is not None}
        return {"policy": self.policy, **asdict(self.counts), **given, "settings": self.settings}

    def __str__(self) -> str:
        counts = self.counts
        lines = [
            f"{counts.stored:,} files stored, {counts.live:,} of them live, by the cut-off policy {self.policy}",
            f"{counts.garbage:,} files ({size_text(counts.garbage_bytes)}) to be deleted",
            f"{counts.lost:,} files lost",
            f"{counts.frozen:,} files kept because a manifest of their table cannot be read",
        ]
        lines += [] if self.written is None else [f"{self.written:,} files written"]
        lines += [] if self.endpoint is None else [f"served at {self.endpoint}"]
        return "\n".join([*lines, "", self.settings])

    def __rich__(self) -> Text:
        from rich.text import Text  # a worker shows nothing

        return Text(shown(str(self), lines=True))


@dataclass(frozen=True, slots=True)
class MakeLakeService(Service[Told]):
    """Make a computed lake for tests and measurements: print its options, and what a collector must find.

    A computed lake takes no space: commits, metadata and files follow from the options, in every process. The printed
    settings make the connectors 'mock' read it. With --lake-folder its files are written to a disk, and with
    --serve-lake it is an S3 store on loopback until the time is over; both need no such connectors but the repository.
    """

    name: ClassVar[str] = "make-lake"
    Parameters: ClassVar[type[ConnectorOptions]] = MakeLakeParameters
    uses_repository: ClassVar[bool] = False
    uses_files: ClassVar[bool] = False
    lasting_store: ClassVar[bool] = False

    parameters: MakeLakeParameters
    sleep: Callable[[float], None] = time.sleep

    def run(self, run: Told) -> MakeLakeReport:
        """Does it.

        Raises:
            ConfigurationError: a parameter is invalid, or the file cannot be written.
        """
        spec, policy = self.parameters.lake_spec(), self.parameters.lake_policy
        counts, folder = MockOracle(spec, policy).counts(), self.parameters.lake_folder
        has_files = folder is not None or self.parameters.lake_commits is not None
        report = MakeLakeReport(settings=spec.as_toml(served=has_files), counts=counts, policy=policy)
        with self._commits_written(spec):
            if folder is not None:
                report = replace(report, written=write_lake(MockLake(spec), Path(folder)))
        if self.parameters.serve_lake is not None:
            return self._served(spec, report, self.parameters.serve_lake, run)
        self._write(report)
        return report

    @contextmanager
    def _commits_written(self, spec: MockLakeSpec) -> Iterator[None]:
        """Writes the commits, if that is asked for; removes them if what follows fails."""
        path = self.parameters.lake_commits
        with ExitStack() as undo:
            if path is not None:
                lines = (json.dumps(record) + "\n" for record in commit_records(spec))
                _write("lake_commits", path, lines)
                undo.callback(Path(path).unlink)
            yield
            undo.pop_all()

    def _served(self, spec: MockLakeSpec, report: MakeLakeReport, time: timedelta, run: Told) -> MakeLakeReport:
        from nessie_gc_memory.mock.s3_server import ComputedS3Server  # no other command needs a server

        seconds = math.ceil(time.total_seconds())
        with ComputedS3Server(spec, port=self.parameters.serve_lake_port) as server:
            properties = "".join(f'"{name}" = "{value}"\n' for name, value in server.properties.items())
            settings = f"{spec.as_toml(served=True)}\n[iceberg]\n{properties}"
            report = replace(report, settings=settings, endpoint=server.endpoint)
            self._write(report)
            for passed in range(seconds):
                run.tell("serve", passed, seconds)
                self.sleep(1)
        return report

    def _write(self, report: MakeLakeReport) -> None:
        path = self.parameters.lake_config
        if path is None:
            return
        _write("lake_config", path, [_SETTINGS.format(policy=json.dumps(report.policy)), report.settings])


def _write(name: str, path: str, texts: Iterable[str]) -> None:
    """Writes a new file, or none."""
    try:
        with ExitStack() as undo, Path(path).open("x", encoding="utf-8") as file:
            undo.callback(Path(path).unlink)
            file.writelines(texts)
            undo.pop_all()
    except FileExistsError as error:
        raise ConfigurationError(f"`{name}` {path!r} already exists; name another file") from error
    except OSError as error:
        raise ConfigurationError(f"`{name}` {path!r} cannot be written: {error.strerror}") from error
