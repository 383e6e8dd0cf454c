"""A file that changes while its scheduler runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from nessie_gc_core.cli.command import known_options
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.model.schedule import RunStatus
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import JobDefinition, ScheduleDefinition
from nessie_gc_core.services.schedule.file_watch import FileWatch
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.pool import Pool

from .conftest import Bench

TEXT = """
allow = ["s3://lake/"]
[schedule.jobs.nightly]
service = "gc"
every = "PT1H"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "x.toml"
    path.write_text(TEXT)
    return path


def reader(path: Path) -> Callable[[bytes | None], ScheduleDefinition]:
    def read(contents: bytes | None) -> ScheduleDefinition:
        return ScheduleDefinition.read(ConfigFile.read(path, known_options(cli), contents), JobDigests(installed()))

    return read


def watch(path: Path) -> FileWatch:
    """One that has looked once."""
    read = reader(path)
    watched = FileWatch(path, read(None), read)
    assert watched.look() is None
    return watched


@dataclass
class Script:
    """A source that says what it is told to."""

    says: list[ScheduleDefinition] = field(default_factory=list)
    is_changing: bool = False
    problem: str | None = None
    has_jobs: bool = True

    def has(self, job: JobDefinition) -> bool:
        return self.has_jobs

    def look(self) -> ScheduleDefinition | None:
        return self.says.pop() if self.says else None


@dataclass
class Machine:
    """A scheduler with a file of its own."""

    bench: Bench
    script: Script = field(default_factory=Script)

    def begins(self, **jobs: str) -> Machine:
        self.scheduler = self.bench.scheduler({name: {"every": every} for name, every in jobs.items()})
        self.scheduler.source = self.script
        self.scheduler.define()
        return self

    def gets(self, **jobs: str) -> None:
        """Another file, which it reads."""
        jobs_ = {name: {"every": every} for name, every in jobs.items()}
        self.script.says.append(self.bench.scheduler(jobs_).definition)
        self.scheduler._read_again()
        self.scheduler._tend()


def failing(schedule: str) -> list[object]:
    raise StoreError("the database is away")


def in_store(bench: Bench) -> dict[str, str]:
    return {job.name: job.timing.split()[1] for job in bench.store.jobs("default")}


# ---- the file -------------------------------------------------------------------------------------------
def test_a_change_counts_when_two_looks_have_seen_it(path: Path) -> None:
    watched = watch(path)
    path.write_text(TEXT.replace("PT1H", "PT2H"))
    assert (None, True) == (watched.look(), watched.is_changing)
    found = watched.look()
    assert found is not None
    assert ("every PT2H", False) == (found.jobs["nightly"].timing.text, watched.is_changing)
    assert watched.look() is None


def test_a_file_that_is_still_written_is_waited_for(path: Path) -> None:
    watched = watch(path)
    for text in ("", TEXT[:40], TEXT[:-10]):
        path.write_text(text)
        assert (None, True) == (watched.look(), watched.is_changing)
    path.write_text(TEXT)
    assert (None, False) == (watched.look(), watched.is_changing)


def test_what_was_changed_before_the_first_look_is_not_missed(path: Path) -> None:
    read = reader(path)
    watched = FileWatch(path, read(None), read)
    path.write_text(TEXT.replace("PT1H", "PT2H"))
    assert watched.look() is not None


@pytest.mark.parametrize("text", ["[schedule", TEXT.replace("gc", "")[:30], TEXT.replace("PT1H", "often"), None])
def test_a_file_that_is_wrong_is_said_to_be_once_and_changes_nothing(
    path: Path, caplog: pytest.LogCaptureFixture, text: str | None
) -> None:
    watched = watch(path)
    path.unlink() if text is None else path.write_text(text)
    assert [None] * 4 == [watched.look() for _ in range(4)]
    (said,) = caplog.messages
    assert f"{path} changed and cannot be used; no run starts until it can: " in said
    assert watched.problem is not None
    assert said.endswith(watched.problem)
    path.write_text(TEXT.replace("PT1H", "PT2H"))
    assert [True, False] == [watched.look() is None for _ in range(2)]
    assert watched.problem is None


def test_a_file_that_was_wrong_and_is_as_before_can_be_used_again(path: Path) -> None:
    watched = watch(path)
    for text, is_wrong in (("[schedule", True), (TEXT, False)):
        path.write_text(text)
        assert [None, None] == [watched.look(), watched.look()]
        assert is_wrong is (watched.problem is not None)


def test_a_file_that_could_not_be_read_for_another_reason_is_read_again_as_it_is(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read, fails = reader(path), [False, True, True, False]

    def sometimes(contents: bytes | None) -> ScheduleDefinition:
        if fails.pop(0):
            raise ConfigurationError("`time-zone` 'Europe/Berlin' is not known")
        return read(contents)

    watched = FileWatch(path, read(None), sometimes)
    assert watched.look() is None
    path.write_text(TEXT.replace("PT1H", "PT2H"))
    assert [None, None, None] == [watched.look() for _ in range(3)]
    assert "`time-zone` 'Europe/Berlin' is not known" == watched.problem
    found = watched.look()
    assert found is not None
    assert ("every PT2H", None) == (found.jobs["nightly"].timing.text, watched.problem)
    assert 1 == len(caplog.messages)


def test_what_was_looked_at_is_read_and_not_what_is_written_just_then(path: Path) -> None:
    read = reader(path)

    def is_written_just_then(contents: bytes | None) -> ScheduleDefinition:
        whole = path.read_bytes()
        path.write_bytes(whole[:40])
        try:
            return read(contents)
        finally:
            path.write_bytes(whole)

    watched = FileWatch(path, read(None), is_written_just_then)
    path.write_text(TEXT.replace("PT1H", "PT2H"))
    found = watched.look()
    assert found is not None
    assert "every PT2H" == found.jobs["nightly"].timing.text


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (TEXT, True),
        (TEXT.replace("PT1H", "PT2H"), False),
        (TEXT.replace("nightly", "other"), False),
        ("[schedule", False),
    ],
)
def test_a_file_says_whether_it_has_a_job_now_as_it_was_read(path: Path, text: str, has: bool) -> None:
    watched, job = watch(path), reader(path)(None).jobs["nightly"]
    path.write_text(text)
    assert has is watched.has(job)


@pytest.mark.parametrize("text", ["# a comment\n" + TEXT, TEXT.replace("\n[", "\njdbc-user = 'gc'\n[")])
def test_a_change_that_means_nothing_is_none(path: Path, text: str) -> None:
    watched = watch(path)
    path.write_text(text)
    assert [None, None] == [watched.look(), watched.look()]


def test_settings_that_need_a_restart_are_named(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    watched = watch(path)
    path.write_text(TEXT + "[schedule]\nlease = 'PT1M'\nwebhook = 'http://secret/'\n")
    assert watched.look() is None
    assert watched.look() is not None
    assert ["another `webhook` counts when the scheduler is restarted"] == caplog.messages


# ---- schedulers -----------------------------------------------------------------------------------------
def test_the_jobs_of_a_file_that_changed_are_those_of_the_store(bench: Bench) -> None:
    machine = Machine(bench).begins(a="PT1H", b="PT1H")
    machine.gets(a="PT2H", c="PT1H")
    assert {"a": "PT2H", "c": "PT1H"} == in_store(bench)
    bench.clock.pass_(hours=1)
    with Pool(4) as pool:
        machine.scheduler._start_due(pool, bench.clock())
    assert ["c"] == [name for name, _ in bench.runner.started]


def test_machines_that_get_a_file_one_after_the_other_agree_at_the_end(bench: Bench) -> None:
    first, second = Machine(bench).begins(a="PT1H", b="PT1H"), Machine(bench).begins(a="PT1H", b="PT1H")
    first.gets(a="PT1H", c="PT1H")
    second.scheduler._tended = None
    second.scheduler._tend()  # it still has the older file
    second.gets(a="PT1H", c="PT1H")
    assert {"a": "PT1H", "c": "PT1H"} == in_store(bench)


def test_s27_a_machine_with_another_file_does_not_take_the_jobs_when_that_changes(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    old = Machine(bench).begins(a="PT1H")
    new = Machine(bench).begins(a="PT1H")
    new.gets(a="PT3H")
    old.gets(a="PT2H")
    assert {"a": "PT3H"} == in_store(bench)
    assert "is another file, or an older one, used for the same schedule?" in caplog.text
    bench.clock.pass_(hours=6)
    with Pool(1) as pool:
        old.scheduler._start_due(pool, bench.clock())
    assert [] == bench.runner.started
    old.gets(a="PT3H")
    with Pool(1) as pool:
        old.scheduler._start_due(pool, bench.clock())
    assert 1 == len(bench.runner.started)


def test_two_files_for_one_schedule_do_not_take_the_jobs_from_each_other(bench: Bench) -> None:
    one, other = Machine(bench).begins(a="PT1H"), Machine(bench).begins(a="PT2H")
    for _ in range(3):
        for machine in (one, other):
            machine.scheduler._tended = None
            machine.scheduler._read_again()
            machine.scheduler._tend()
        assert {"a": "PT2H"} == in_store(bench)


def test_a_job_that_a_newer_file_removed_is_not_added_again_by_an_older_one(bench: Bench) -> None:
    old = Machine(bench).begins(a="PT1H", b="PT1H")
    Machine(bench).begins(a="PT2H")
    old.scheduler._tend()
    assert {"a": "PT2H"} == in_store(bench)


def test_s27_a_job_that_a_newer_file_only_removed_does_not_come_back_with_a_change_of_an_older_one(
    bench: Bench,
) -> None:
    old = Machine(bench).begins(a="PT1H", b="PT1H")
    Machine(bench).begins(a="PT1H", b="PT1H").gets(a="PT1H")
    old.gets(a="PT1H", b="PT1H", c="PT1H")
    assert {"a": "PT1H"} == in_store(bench)


def test_nothing_starts_while_the_file_changes(bench: Bench) -> None:
    machine = Machine(bench).begins(a="PT1H")
    bench.clock.pass_(hours=1)
    machine.script.is_changing = True
    with Pool(1) as pool:
        machine.scheduler._start_due(pool, bench.clock())
        assert [] == bench.runner.started
        machine.script.is_changing = False
        machine.scheduler._start_due(pool, bench.clock())
    assert 1 == len(bench.runner.started)


def test_nothing_starts_while_the_file_is_wrong_and_what_was_due_starts_then(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(bench).begins(a="PT1H")
    bench.clock.pass_(hours=1)
    machine.script.problem = "x.toml is not TOML"
    machine.scheduler._tend()
    assert ["no run starts, because the file cannot be used: x.toml is not TOML"] == caplog.messages
    with Pool(1) as pool:
        machine.scheduler._start_due(pool, bench.clock())
        assert [] == bench.runner.started
        machine.script.problem = None
        machine.scheduler._start_due(pool, bench.clock())
    assert 1 == len(bench.runner.started)


@pytest.mark.parametrize(
    ("has_jobs", "statuses"),
    [(False, {RunStatus.INTERRUPTED, RunStatus.SUCCEEDED}), (True, {RunStatus.FAILED})],
)
def test_a_run_that_is_refused_begins_again_only_if_the_file_was_changed_meanwhile(
    bench: Bench, has_jobs: bool, statuses: set[RunStatus]
) -> None:
    machine = Machine(bench).begins(a="PT1H")
    bench.runner.outcomes["a"] = [Outcome(exit_code=2, report='{"error": "it is not what its scheduler has read"}')]
    bench.clock.pass_(hours=1)
    machine.script.has_jobs = has_jobs
    machine.scheduler.run_due()
    assert statuses == {run.status for run in bench.runs()}
    assert has_jobs is (
        not any("was changed while the run began: it is not what" in (run.error or "") for run in bench.runs())
    )


def test_a_change_is_not_lost_if_the_store_is_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(bench).begins(a="PT1H")
    with monkeypatch.context() as away, pytest.raises(StoreError):
        away.setattr(bench.store, "jobs", failing)
        machine.gets(a="PT2H")
    machine.scheduler._read_again()
    assert {"a": "PT2H"} == in_store(bench)
