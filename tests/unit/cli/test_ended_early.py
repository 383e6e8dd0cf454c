"""A run that fails or is interrupted says the live set, what was done by then, and what goes on."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn
from uuid import UUID

import pytest
from cli_runs import COLLECT, Run, one_line
from click.testing import Result
from nessie_gc_memory import MemoryLake, MemoryRepository

from nessie_gc_core.api import Collector
from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.errors import ServiceUnavailableError
from nessie_gc_core.model import Reference
from nessie_gc_core.model.live_sets import LiveSetStatus, next_step
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.ending import Command, Terminated, how_it_ended
from nessie_gc_core.services.quarantine.outcomes import ReleasedFiles
from nessie_gc_core.services.quarantine.purge import PurgeService
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.sweep import SweepService
from nessie_gc_core.services.tally import Tally

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
PLACE = "memory://warehouse/.held/"
AGAIN = "--repository memory --engine local --min-age P0D --no-age-floor"
"""The options of a run, as a command that goes on has them."""
RELEASE = (*COLLECT[:4], "--files-per-step", "1")
STATUSES = {
    LiveSetStatus.IDENTIFY_SUCCESS: "nessie-gc sweep ID",
    LiveSetStatus.IDENTIFY_FAILED: "run 'nessie-gc mark' for a new one",
    LiveSetStatus.IDENTIFY_IN_PROGRESS: "wait for its mark to end",
    LiveSetStatus.EXPIRY_IN_PROGRESS: "if its process is gone, run 'nessie-gc sweep --resume ID'",
    LiveSetStatus.EXPIRY_FAILED: "finish its sweep with 'nessie-gc sweep --resume ID'",
    LiveSetStatus.EXPIRY_SUCCESS: "it is swept; run 'nessie-gc mark' for a new one",
}


def mark(run: Run) -> str:
    return str(json.loads(run("mark", "--repository", "memory", "-c", "1", "--json").stdout)["live_set_id"])


def last_line(result: Result) -> str:
    """The error of an interrupted run, which begins on a new line."""
    return result.stderr.splitlines()[-1].removeprefix("error: ")


def store() -> LiveSetStore:
    """The store in the user's data folder, as the program opens it."""
    url = f"sqlite:///{os.environ['XDG_DATA_HOME']}/nessie-gc/live-sets.db"
    return installed().open(LiveSetStore, ConnectorSpec(kind="live-set-store", name="jdbc", options={"url": url}))


@pytest.fixture
def dies(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Raised when the references are listed for the second time in a process: at the re-check of a ``gc``."""
    errors: list[BaseException] = []
    real = MemoryRepository.references

    def references(self: MemoryRepository) -> Iterator[Reference]:
        if errors:
            raise errors[0]
        return real(self)

    monkeypatch.setattr(MemoryRepository, "references", references)
    return errors


def held(run: Run, lake: MemoryLake, files: int) -> tuple[str, ...]:
    """Puts files in quarantine whose time is over; the arguments of the purge that takes them one by one."""
    for number in range(1, files):
        lake.put(f"memory://warehouse/db/t/data/orphan-{number}.parquet")
    assert 0 == run("gc", *COLLECT, "--quarantine", PLACE, "--quarantine-for", "PT0S").exit_code
    return "purge", *RELEASE


def dying(name: str, *, at: int) -> tuple[type, str, Callable[..., Any]]:
    """What ends a process instead of something of a purge that it does for that time: where, its name, and itself."""
    owner: type = {"function": PurgeService, "begin": ReleasedFiles}.get(name) or type(store())
    real, calls = getattr(owner, name), itertools.count(1)

    def die(self: object, *arguments: object) -> Any:
        if next(calls) == at:
            raise KeyboardInterrupt
        return real(self, *arguments)

    return owner, name, die


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 143, "terminated"),
        (ServiceUnavailableError("no answer"), 1, "no answer"),
    ],
)
def test_a_sweep_that_ends_early_says_what_was_done_and_how_to_go_on(
    run: Run, lake: MemoryLake, dies: list[BaseException], error: BaseException, code: int, said: str
) -> None:
    id_ = mark(run)
    before = lake.paths()
    dies.append(error)
    result = run("sweep", *COLLECT, "-l", id_)
    then = f"nessie-gc sweep --resume {id_} {AGAIN}"
    expected = f"{said}; live set {id_}: nothing was deleted; next: '{then}', which deletes files"
    assert (code, expected) == (result.exit_code, last_line(result))
    dies.clear()
    assert before == lake.paths()
    assert 0 == run("sweep", "--resume", "--live-set-id", id_, *COLLECT).exit_code
    assert ORPHAN not in lake.paths()


def test_the_json_error_has_the_same(run: Run, lake: MemoryLake, dies: list[BaseException]) -> None:
    id_ = mark(run)
    dies.append(KeyboardInterrupt())
    found = json.loads(run("sweep", *COLLECT, "-l", id_, "--json").stdout)
    assert (id_, {}, f"nessie-gc sweep --resume {id_} {AGAIN}") == (
        found["live_set_id"],
        found["done"],
        found["next"],
    )


def test_a_sweep_that_defers_is_resumed_as_one_that_defers(
    run: Run, lake: MemoryLake, dies: list[BaseException]
) -> None:
    id_ = mark(run)
    dies.append(KeyboardInterrupt())
    result = run("sweep", *COLLECT, "-l", id_, "--defer-deletes")
    then = f"'nessie-gc sweep --resume --defer-deletes {id_} {AGAIN}', which records what to delete"
    assert then in last_line(result)


def test_what_was_deleted_by_then_is_counted(run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch) -> None:
    from nessie_gc_core.services import deletion

    real = deletion.Deletion._take

    def take(self: deletion.Deletion, *arguments: object) -> None:
        real(self, *arguments)  # type: ignore[arg-type]  # whatever it takes
        raise KeyboardInterrupt

    monkeypatch.setattr(deletion.Deletion, "_take", take)
    lake.faults.deleting[ORPHAN] = "locked"
    result = run("sweep", *COLLECT, "-l", mark(run), "--json")
    body = json.loads(result.stdout)
    deleted = body["done"]["deleted"]["files"]
    assert (1, True) == (body["done"]["failed"]["files"], deleted > 0)
    assert f"{deleted} deleted, 1 failed in the finished steps" in body["error"]


def test_a_gc_in_memory_can_only_be_run_again(run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch) -> None:
    from nessie_gc_core.services import deletion

    def take(self: object, *arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(deletion.Deletion, "_take", take)
    said = last_line(run("gc", *COLLECT, "--inmemory", "-c", "1"))
    again = "nessie-gc gc --repository memory --inmemory --engine local --min-age P0D --no-age-floor --default-cutoff 1"
    assert f"no step of the deletion was finished; next: '{again}', which deletes files" in said
    said = last_line(run("gc", *COLLECT, "-c", "1"))
    assert "next: 'nessie-gc sweep --resume " in said
    said = last_line(run("gc", *COLLECT, "-c", "1", "--dry-run"))
    assert "this was a dry run; next: 'nessie-gc sweep --dry-run " in said


def test_what_deletes_less_than_a_sweep_is_run_again(
    run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nessie_gc_core.services import deletion

    def take(self: object, *arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(deletion.Deletion, "_take", take)
    arguments = ("remove-orphan-files", *COLLECT[:4], "--table", "db.t", "--older-than", "PT0S", "--no-age-floor")
    said = last_line(run(*arguments))
    assert "no step of the deletion was finished; next: 'nessie-gc remove-orphan-files --repository" in said


@pytest.mark.parametrize(
    ("dies_in", "steps"),
    [
        ("function", 2),  # nothing of the second step is deleted
        ("begin", 2),
        ("forget_held_files", 2),  # it is deleted, and the next purge counts it
        ("put_held_files", 3),  # its record is gone
    ],
)
def test_s15_what_a_purge_deleted_counts_once_wherever_it_ends(
    run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch, dies_in: str, steps: int
) -> None:
    purge = held(run, lake, 4)
    with monkeypatch.context() as patched:
        patched.setattr(*dying(dies_in, at=steps))
        ended = run(*purge, "--json")
    body = json.loads(ended.stdout)
    done = body["done"]["purged"]["files"]
    again = "nessie-gc purge --repository memory --engine local --files-per-step 1"
    assert (130, again, True) == (ended.exit_code, body["next"], 0 < done < 4)
    said = f"interrupted; {done} purged in the finished steps; next: '{again}', which deletes files"
    assert said == body["error"]
    assert 4 - done == json.loads(run(*purge, "--json").stdout)["purged"]["files"]


def test_a_restoration_that_ends_early_says_what_was_restored(
    run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(run, lake, 3)
    arguments = ("restore", *RELEASE, "--everything")
    then = "next: 'nessie-gc restore --repository memory --engine local --files-per-step 1 --everything'"
    with monkeypatch.context() as patched:
        patched.setattr(*dying("begin", at=1))
        assert f"no step was finished; {then}" in last_line(run(*arguments))
    with monkeypatch.context() as patched:
        patched.setattr(*dying("begin", at=3))
        assert f"2 restored in the finished steps; {then}" in last_line(run(*arguments))


def test_what_could_not_be_purged_by_then_is_counted_apart(
    run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    purge = held(run, lake, 2)
    lake.faults.deleting.update({path: "locked" for path in lake.paths() if path.startswith(PLACE)})
    monkeypatch.setattr(*dying("begin", at=2))
    assert {"failed": {"files": 1, "bytes": 100}} == json.loads(run(*purge, "--json").stdout)["done"]


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_a_next_step(status: LiveSetStatus) -> None:
    id_ = UUID(int=7)
    assert STATUSES[status].replace(" ID", f" {id_}") in with_flags(next_step(id_, status))
    assert "--" not in next_step(id_, status)


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_an_error_about_a_status_names_the_next_step(run: Run, lake: MemoryLake, more: tuple[str, ...]) -> None:
    id_ = mark(run)
    with store() as opened:
        opened.start_expire(UUID(id_), at=datetime.now(UTC))
        opened.finish_expire(UUID(id_), at=datetime.now(UTC), failure="x")
    said = one_line(run("sweep", *COLLECT, "-l", id_, *more))
    assert f"live set {id_} is EXPIRY_FAILED, expected IDENTIFY_SUCCESS: finish its sweep with" in said
    assert f"'nessie-gc sweep --resume {id_} {AGAIN}', which deletes files" in said
    said = one_line(run("deferred-deletes", *COLLECT[:4], "-l", id_))
    assert f"'nessie-gc sweep --resume {id_} --repository memory --engine local'" in said


def test_a_sweep_with_failed_deletions_is_no_plain_success_in_the_list(run: Run, lake: MemoryLake) -> None:
    lake.faults.deleting[ORPHAN] = "locked"
    id_ = mark(run)
    assert 1 == run("sweep", *COLLECT, "-l", id_).exit_code
    other = mark(run)
    listed = run("list").stdout
    assert 1 == listed.count("EXPIRY_SUCCESS, 1 failed")
    assert {id_: 1, other: 0} == {
        found["id"]: found["failed_files"] for found in json.loads(run("list", "--json").stdout)["live_sets"]
    }
    assert "status              EXPIRY_SUCCESS, 1 failed" in run("show", "-l", id_).stdout
    assert 1 == json.loads(run("show", "-l", id_, "--json").stdout)["counts"]["failed_files"]


def test_what_failed_before_a_resumed_attempt_is_not_counted_again(
    run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nessie_gc_core.services import sweep

    lake.faults.deleting[ORPHAN] = "locked"
    id_ = mark(run)
    real = sweep._Sweep.run

    def die_after(self: sweep._Sweep) -> None:
        real(self)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sweep._Sweep, "run", die_after)
        assert 130 == run("sweep", *COLLECT, "-l", id_).exit_code
    assert "EXPIRY_FAILED, 1 failed" in run("list").stdout
    lake.faults.deleting.clear()
    assert 0 == run("sweep", *COLLECT, "-l", id_, "--resume").exit_code
    assert "failed" not in run("list").stdout


def test_a_fresh_store_that_finds_metadata_missing_says_what_tombstones_are(run: Run, lake: MemoryLake) -> None:
    state = next(iter(lake.history.state_at(lake.history.reference("main").commit_id).values()))
    lake.objects.delete(str(state.metadata_location))
    said = "has no record of an earlier run that deleted them"
    first = run("gc", *COLLECT, "-c", "1")
    assert (1, True) == (first.exit_code, said in first.stdout)
    assert said not in run("gc", *COLLECT, "-c", "1").stdout


def test_a_lake_whose_metadata_is_there_has_no_hint(run: Run, lake: MemoryLake) -> None:
    assert "tombstone" not in run("gc", *COLLECT, "-c", "1").output


def test_a_database_in_a_folder_that_does_not_exist_is_an_error(run: Run, home: Path) -> None:
    result = run("list", "--jdbc-url", f"sqlite:///{home}/nowhere/live-sets.db")
    assert (1, True) == (result.exit_code, f"the folder {home}/nowhere of the live-set store" in one_line(result))
    assert not (home / "nowhere").exists()


def interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("more", "word"), [(("--dry-run",), " --dry-run"), ((), "")])
def test_a_gc_that_ends_just_after_its_mark_goes_on_as_it_was_called(
    run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], word: str
) -> None:
    monkeypatch.setattr(SweepService, "swept", interrupted)
    result = run("gc", *COLLECT, *more)
    (live_set,) = store().live_sets()
    nothing = "nothing was deleted, this was a dry run" if more else "nothing was deleted"
    does = "deletes nothing" if more else "deletes files"
    then = f"'nessie-gc sweep{word} {live_set.id} {AGAIN}', which {does}"
    expected = f"interrupted; live set {live_set.id}: {nothing}; next: {then}"
    assert (130, expected) == (result.exit_code, last_line(result))


@pytest.mark.parametrize("command", ["restore", "purge"])
def test_a_dry_run_of_a_release_that_ends_early_goes_on_as_a_dry_run(command: str) -> None:
    report = GcReport()
    report.released = {"restored": Tally(files=1, bytes=2)}
    ended = how_it_ended(Command(name=command, report=report, dry_run=True))
    assert ended is not None
    assert f"nessie-gc {command} --dry-run" == ended.next


LEAVES_A_THREAD = """
import atexit, sys, threading, time
from nessie_gc_core.cli.main import run
from nessie_gc_core.engines.beside import BESIDE

atexit.register(lambda: print("Python ended as usual"))
threading.Thread(target=time.sleep, args=(60,), name={name}, daemon=True).start()
sys.argv = ["nessie-gc", {argument!r}]
run()
"""


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("--wrong", 2)])
def test_a_process_that_leaves_an_engine_starting_ends_without_pythons_own_end(argument: str, code: int) -> None:
    def ended(name: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", LEAVES_A_THREAD.format(name=name, argument=argument)]
        return subprocess.run(program, check=False, capture_output=True, text=True, timeout=60)

    as_usual, at_once = ended("'another'"), ended("BESIDE")
    assert (code, code) == (as_usual.returncode, at_once.returncode)
    assert as_usual.stdout == at_once.stdout + "Python ended as usual\n"
    assert as_usual.stderr == at_once.stderr


@pytest.mark.parametrize(("engine", "waits"), [("local", True), ("spark", False), ("wrong", True)])
def test_only_an_engine_that_starts_slowly_is_left_starting(engine: str, *, waits: bool) -> None:
    given = Given(values={"engine": engine}, ranks={"engine": Rank.CALLER})
    collector = Collector.from_given(given, plugins=installed(), ends_process=True)
    assert waits is collector._resources.waits_for_engine
