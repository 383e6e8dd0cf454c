"""S15: whatever fails, at whichever call, costs no needed file, is told by its type, and the next run goes on.

Calls of real connectors of a simulated lake fail, one a run. The quick tests take some kinds of errors at each call;
``nox -s thorough`` takes all of them.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import itertools
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import requests
import sqlalchemy.exc
from cli_runs import go_home
from click.testing import CliRunner, Result
from failing import KEPT, Calls, FailingPlugin, Point
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryContentToFiles, MemoryLake, MemoryLiveSetStore, MemoryRepository, put
from nessie_gc_memory.files import MemoryFileDeleter, MemoryFileLister
from thoroughness import THOROUGH

import nessie_gc_core.errors
from nessie_gc_core.api import Collector
from nessie_gc_core.cli.main import cli
from nessie_gc_core.connectors import Connector
from nessie_gc_core.errors import NessieGcError, StoreError, UnreadableFileError, UnwritableFileError
from nessie_gc_core.model.live_sets import LiveSetStatus

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
SECRET = "s3://KEY:SECRET@bucket/x"
"""What libraries put into their texts."""
ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
CONNECTORS = (
    *("--repository", "memory", "--engine", "local", "--disable-plugin", "memory"),
    *("--store", KEPT, "--store-option", "store=errors"),
)
FILES = ("content-to-files", "file-lister", "file-deleter")
SWEEP = (*CONNECTORS, "--min-age", "PT0S", "--no-age-floor", "--json")
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "gc": (*SWEEP, "--default-cutoff", "1"),
    "mark": ("--repository", "memory", *CONNECTORS[4:], "--json", "--default-cutoff", "1"),
    "sweep": SWEEP,
    "deferred-deletes": (*CONNECTORS, "--json"),
}


def ours(of: type[NessieGcError] = NessieGcError) -> Iterator[type[NessieGcError]]:
    """All errors that the program raises on purpose."""
    yield of
    for each in of.__subclasses__():
        if each.__module__ == nessie_gc_core.errors.__name__:
            yield from ours(each)


def made(kind: type[NessieGcError]) -> NessieGcError:
    needs_path = issubclass(kind, (UnreadableFileError, UnwritableFileError))
    return kind("memory://x", SECRET) if needs_path else kind(f"no answer from {SECRET}")


EXPECTED: Mapping[str, Callable[[], BaseException]] = {
    kind.__name__: functools.partial(made, kind) for kind in dict.fromkeys(ours())
}
OF_THE_MACHINE: Mapping[str, Callable[[], BaseException]] = {
    "MemoryError": lambda: MemoryError(SECRET),
    "ArrowMemoryError": lambda: pa.ArrowMemoryError(SECRET),
    "no space": lambda: OSError(errno.ENOSPC, "No space left on device", SECRET),
    "too many files": lambda: OSError(errno.EMFILE, "Too many open files", SECRET),
}
UNEXPECTED: Mapping[str, Callable[[], BaseException]] = {
    "RecursionError": lambda: RecursionError(SECRET),
    "AttributeError": lambda: AttributeError(SECRET),
    "KeyError": lambda: KeyError(SECRET),
    "ValueError": lambda: ValueError(SECRET),
    "TypeError": lambda: TypeError(SECRET),
    "OSError": lambda: OSError(errno.EIO, "Input/output error", SECRET),
    "TimeoutError": lambda: TimeoutError(SECRET),
    "AssertionError": AssertionError,
    "StopIteration": lambda: StopIteration(SECRET),
    "UnicodeDecodeError": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, SECRET),
    "ArrowInvalid": lambda: pa.ArrowInvalid(f"two\nlines {SECRET}"),
    "requests": lambda: requests.ConnectionError(SECRET),
    "sqlalchemy": lambda: sqlalchemy.exc.OperationalError("SELECT 1", {}, Exception(SECRET)),
    "ExceptionGroup": lambda: ExceptionGroup(SECRET, [ValueError(SECRET)]),
    "SystemExit 0": lambda: SystemExit(0),
    "SystemExit": lambda: SystemExit(SECRET),
    "CancelledError": lambda: asyncio.CancelledError(SECRET),
}
INTERRUPTS: Mapping[str, Callable[[], BaseException]] = {"KeyboardInterrupt": KeyboardInterrupt}
KINDS = {**EXPECTED, **OF_THE_MACHINE, **UNEXPECTED, **INTERRUPTS}

LAST = -1
PHASES: Mapping[str, Point] = {
    "before anything": ("repository.references", 0),
    "mark: references": ("repository.references", 1),
    "mark: commit log": ("repository.commit_log", 0),
    "mark: contents": ("repository.contents", 0),
    "mark: what is live is stored": ("store.add_content_versions", 0),
    "mark: its end": ("store.finish_identify", 0),
    "the lease": ("store.acquire_lease", 0),
    "the sweep's beginning": ("store.start_expire", 0),
    "expand: where contents are": ("store.register_contents", 0),
    "expand: metadata": ("reader.files", 0),
    "expand: manifests": ("reader.expand", LAST),
    "list": ("lister.list_part", 0),
    "the store's clock": ("lister.store_time", 0),
    "subtract": ("reader.hinted", 0),
    "what is in quarantine": ("store.held_files", LAST),
    "guard": ("veto.veto_deletion", 0),
    "re-check": ("repository.references", LAST),
    "delete: announced": ("store.record_steps", 0),
    "delete: tombstones": ("store.add_tombstones", 0),
    "delete": ("deleter.delete_files", 0),
    "delete: recorded": ("store.record_steps", LAST),
    "the sweep's end": ("store.finish_expire", 0),
    "the lease is given back": ("store.release_lease", 0),
    "closing": ("store.close", 0),
}
HARMLESS = ("close", "release_lease", "split_listing")
"""What ends no run, and changes no outcome."""
ALWAYS = ("KeyboardInterrupt", "RecursionError")
"""Kinds for each phase; of the others, each phase takes some."""
SOME = 2
IN_TURN = ("AttributeError", "StoreError", "KeyboardInterrupt", "SystemExit 0")
"""One of these for each call where a second run makes it slow."""


@dataclass
class Failing:
    """A lake all of whose connectors can fail."""

    calls: Calls

    def run(self, lake: Lake, command: str, *more: str) -> Result:
        return self.run_failing(None, None, lake, command, *more)

    def run_failing(
        self, at: Point | None, error: BaseException | None, lake: Lake, command: str, *more: str
    ) -> Result:
        self.calls.begin(at, error)
        try:
            return CliRunner().invoke(cli, (command, *more, *COMMANDS[command], *lake.options(command)))
        finally:
            self.counts, self.has_failed = self.calls.counts(), self.calls.has_failed
            self.calls.begin(None, None)


@pytest.fixture(scope="module")
def failing() -> Iterator[Failing]:
    calls = Calls()
    connectors: dict[str, type[Connector]] = {
        "repository": MemoryRepository,
        "reader": MemoryContentToFiles,
        "lister": MemoryFileLister,
        "deleter": MemoryFileDeleter,
        "store": MemoryLiveSetStore,
    }
    with FailingPlugin(calls, *connectors.items()):
        yield Failing(calls)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return go_home(tmp_path, monkeypatch)


class Lake:
    """A small lake with garbage, and an empty store."""

    def __init__(self, lake: MemoryLake) -> None:
        self._lake = lake  # of a name of its own: connectors that an earlier run kept have another one
        MemoryLiveSetStore._shared.pop("errors", None)
        empty = lake.table("db.t", location="memory://warehouse/db/t")
        first = empty.append("a.parquet")
        head = first.overwrite("b.parquet")
        for state in (empty, first, head):
            lake.commit("main", put(state.version))
        name = (head.version.metadata_location or "").rpartition("/")[2].partition(".")[0]
        self.needed = {*head.needed, lake.put("memory://warehouse/db/t/metadata/version-hint.text", name.encode())}
        lake.put(ORPHAN)
        lake.now = None
        self.store = MemoryLiveSetStore.from_options({"store": "errors"})

    def options(self, command: str) -> Iterator[str]:
        """What names it to the connectors of a command."""
        yield from ("-r", f"lake={self.name}")
        for kind in FILES if command != "mark" else ():
            yield from ("--connector-option", f"{kind}:memory:lake={self.name}")

    def collector(self) -> Collector:
        """The same in Python."""
        return Collector(
            repository="memory",
            repository_option={"lake": self.name},
            engine="local",
            disable_plugin=["memory"],
            store=KEPT,
        )

    @property
    def name(self) -> str:
        return self._lake.name

    @property
    def lost(self) -> set[str]:
        return self.needed - self._lake.paths()

    @property
    def is_clean(self) -> bool:
        return self._lake.paths() == self.needed

    @property
    def lease_is_free(self) -> bool:
        return self.store.lease(f"memory:{self.name}") is None

    @property
    def said_in_store(self) -> str:
        return " ".join(str(each.error_message) for each in self.store.live_sets())


@pytest.fixture
def lake() -> Iterator[Lake]:
    with lake_at(LONG_AGO) as lake:
        yield Lake(lake)


def counts_of(failing: Failing, lake: Lake, command: str, *more: str) -> dict[str, int]:
    """The calls of a run that fails nowhere."""
    result = failing.run(lake, command, *more)
    assert 0 == result.exit_code, result.output
    return failing.counts


def body_of(result: Result) -> dict[str, Any]:
    """What JSON says; nothing may be beside it."""
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def check(result: Result, error: BaseException, at: Point, lake: Lake) -> None:
    """What is so after every run in which something failed."""
    assert set() == lake.lost
    assert "SECRET" not in lake.said_in_store
    assert lake.lease_is_free or at[0] == "store.release_lease"
    check_told(result, error, at)


def check_told(result: Result, error: BaseException, at: Point) -> None:
    """What such a run says: one line, and JSON, both without secrets."""
    assert isinstance(result.exception, (SystemExit, type(None))), result.exception
    assert "SECRET" not in result.output
    assert "Traceback" not in result.output
    body = body_of(result)
    lines = [line for line in result.stderr.splitlines() if line and not re.match(r"\d{4}-\d\d-\d\d ", line)]
    if "error" in body:
        assert [f"error: {body['error']}"] == lines
        check_line(str(body["error"]), error)
    else:  # what failed is about one file or place, and the others went on
        assert [] == lines
        assert isinstance(error, Exception), "an interrupt was taken for the trouble of one file"
        named = *body["unknown"], *body["unreadable"], *body["spared_files"], *body["failed_files"]
        is_warned = any("cannot be read, so this machine's clock is used" in each for each in body["warnings"])
        assert named or at[0].endswith(HARMLESS) or (at[0].endswith("store_time") and is_warned)
    assert expected_code(error, body, at) == result.exit_code == body["exit_code"]


def expected_code(error: BaseException, body: Mapping[str, Any], at: Point) -> int:
    if isinstance(error, KeyboardInterrupt):
        return 130
    if "error" not in body:
        return 0 if at[0].endswith((*HARMLESS, "veto_deletion", "store_time")) else 1
    return error.exit_code if isinstance(error, NessieGcError) else 1


def check_line(line: str, error: BaseException) -> None:
    """One line says what it is, and whether it was expected."""
    if isinstance(error, NessieGcError):
        assert line.startswith(("no answer from s3://***@bucket/x", "cannot read memory://x: ", "cannot write memory:"))
        return
    if isinstance(error, KeyboardInterrupt):
        assert line.startswith("interrupted")
        return
    name = "RuntimeError" if isinstance(error, StopIteration) and "RuntimeError" in line else type(error).__name__
    assert re.search(rf"{name} (in the phase \w+ of '|at the beginning of '|in '[a-z-]+', after its phase )", line)
    is_fault = not isinstance(error, MemoryError) and getattr(error, "errno", None) not in (errno.ENOSPC, errno.EMFILE)
    assert is_fault is line.startswith("unexpected error ")
    assert is_fault is ("run it with -vv (log level DEBUG) for the traceback, and report that" in line)


def kinds_of(number: int) -> list[str]:
    """The kinds that a phase takes."""
    others = [kind for kind in KINDS if kind not in ALWAYS]
    taken = [others[(number * SOME + each) % len(others)] for each in range(SOME)]
    return [*KINDS] if THOROUGH else [*ALWAYS, *taken]


PAIRS = [(phase, kind) for number, phase in enumerate(PHASES) for kind in kinds_of(number)]


@pytest.fixture(scope="module")
def calls_of_gc(failing: Failing) -> dict[str, int]:
    with lake_at(LONG_AGO) as lake:
        return counts_of(failing, Lake(lake), "gc")


def resolved(point: Point, counts: Mapping[str, int]) -> Point:
    name, number = point
    return name, counts[name] - 1 if number == LAST else number


@pytest.mark.parametrize(("phase", "kind"), PAIRS)
def test_s15_an_error_of_any_kind_at_any_phase_of_a_gc_costs_nothing_and_is_one_line(
    failing: Failing, lake: Lake, calls_of_gc: dict[str, int], phase: str, kind: str
) -> None:
    at, error = resolved(PHASES[phase], calls_of_gc), KINDS[kind]()
    result = failing.run_failing(at, error, lake, "gc")
    assert failing.has_failed, (at, failing.counts, result.output)
    check(result, error, at, lake)


@pytest.mark.parametrize("kind", KINDS)
def test_s15_an_error_of_each_kind_ends_a_mark_in_one_line(failing: Failing, lake: Lake, kind: str) -> None:
    error = KINDS[kind]()
    at = ("repository.commit_log", 0)
    check(failing.run_failing(at, error, lake, "mark"), error, at, lake)
    (live_set,) = lake.store.live_sets()
    assert LiveSetStatus.IDENTIFY_FAILED is live_set.status


def test_s15_a_mark_that_fails_at_any_call_leaves_nothing_that_is_swept(failing: Failing, lake: Lake) -> None:
    for name, kind in itertools.product(counts_of(failing, lake, "mark"), IN_TURN):
        at, error = (name, 0), KINDS[kind]()
        result = failing.run_failing(at, error, lake, "mark")
        check_told(result, error, at)
        body = body_of(result)
        if "error" in body and not name.endswith(HARMLESS):
            marked = [each for each in lake.store.live_sets() if str(each.id) == body.get("live_set_id")]
            assert LiveSetStatus.IDENTIFY_SUCCESS not in [each.status for each in marked]


@pytest.mark.parametrize("connector", ["repository", "reader", "lister", "deleter", "veto", "store"])
def test_s15_what_a_failed_run_proposes_goes_on_to_the_end(failing: Failing, connector: str) -> None:
    with lake_at(LONG_AGO) as lake:
        names = [name for name in counts_of(failing, Lake(lake), "gc") if name.startswith(connector)]
    for name, kind in zip(
        (name for name in names if not name.endswith(HARMLESS)), itertools.cycle(IN_TURN), strict=False
    ):
        with lake_at(LONG_AGO) as lake:
            fails_and_goes_on(failing, Lake(lake), (name, 0), KINDS[kind]())


def fails_and_goes_on(failing: Failing, lake: Lake, at: Point, error: BaseException) -> None:
    """A ``gc`` fails; then that runs which it proposes, or another one."""
    result = failing.run_failing(at, error, lake, "gc")
    check(result, error, at, lake)
    program, command, *more = shlex.split(str(body_of(result).get("next", "nessie-gc gc")))
    assert "nessie-gc" == program
    then = failing.run(lake, command, *more)
    assert (0, set()) == (then.exit_code, lake.lost), (at, then.output)
    assert lake.is_clean, at
    assert lake.lease_is_free, at


SWEEPING = [phase for phase in PHASES if phase != "before anything" and not phase.startswith("mark")]
RECHECK_OF_SWEEP: Point = ("repository.references", 0)
"""A mark has listed them twice before it, which is another run here."""


@pytest.mark.parametrize("phase", SWEEPING)
def test_s15_a_sweep_that_fails_at_any_phase_is_resumed(
    failing: Failing, lake: Lake, calls_of_gc: dict[str, int], phase: str
) -> None:
    error = KINDS[IN_TURN[SWEEPING.index(phase) % len(IN_TURN)]]()
    live_set = body_of(failing.run(lake, "mark"))["live_set_id"]
    at = resolved(PHASES[phase], calls_of_gc) if PHASES[phase][0] != "repository.references" else RECHECK_OF_SWEEP
    result = failing.run_failing(at, error, lake, "sweep", "--live-set-id", live_set)
    check(result, error, at, lake)
    if "next" in body_of(result) and not at[0].endswith(HARMLESS):
        _, command, *more = shlex.split(body_of(result)["next"])
        assert 0 == failing.run(lake, command, *more).exit_code
        assert lake.is_clean


def test_s15_deferred_deletions_that_fail_at_any_call_are_deleted_by_the_next_run(failing: Failing, lake: Lake) -> None:
    live_set = body_of(failing.run(lake, "gc", "--defer-deletes"))["live_set_id"]
    which = ("--live-set-id", live_set)
    counts = counts_of(failing, lake, "deferred-deletes", "--dry-run", *which)
    names = [*(name for name in counts if not name.endswith(HARMLESS)), "deleter.delete_files"]
    for name, kind in zip(names, itertools.cycle(IN_TURN), strict=False):
        at, error = (name, 0), KINDS[kind]()
        check(failing.run_failing(at, error, lake, "deferred-deletes", *which), error, at, lake)
    assert 0 == failing.run(lake, "deferred-deletes", *which).exit_code
    assert lake.is_clean


def test_s28_a_traceback_shows_no_password_of_a_url(failing: Failing, lake: Lake) -> None:
    for more in ((), ("--log-format", "json")):
        result = failing.run_failing(("store.get", 0), RuntimeError(f"two\nlines {SECRET}"), lake, "gc", "-vv", *more)
        assert "Traceback" in result.stderr
        assert "SECRET" not in result.output + lake.said_in_store


def test_s15_an_error_in_python_is_itself_and_says_in_which_phase_it_came(failing: Failing, lake: Lake) -> None:
    for error in (KeyError("x"), RecursionError("deep"), StoreError("full"), SystemExit(3)):
        failing.calls.begin(("store.add_content_versions", 0), error)
        with lake.collector() as collector, pytest.raises(type(error)) as caught:
            collector.mark(default_cutoff="1")
        assert (error, ["Nessie GC: in the phase mark"]) == (caught.value, caught.value.__notes__)
    failing.calls.begin(None, None)
