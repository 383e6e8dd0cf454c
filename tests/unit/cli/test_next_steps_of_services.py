"""What services, schedules, pages and first files propose is run as it is printed."""

from __future__ import annotations

import os
import re
import shlex
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from branch_lakes import CommittingMemory, MemoryBranchLake
from cli_runs import COLLECT, Run
from expiry_lakes import ExpiryLake
from nessie_gc_jdbc import JdbcLiveSetStore, JdbcScheduleStore
from nessie_gc_memory import MemoryLake, MemoryRepository, put
from next_steps import NextSteps, proposes, steps_over

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus
from nessie_gc_core.services.assets.page.figures import AssetFigures, Threshold
from nessie_gc_core.services.assets.page.render import render_page
from nessie_gc_core.services.schedule.page import figures
from nessie_gc_core.services.schedule.page.figures import MOST_QUARANTINES, figures_of
from nessie_gc_core.services.schedule.page.render import render_schedule

PLACE = "memory://warehouse/.held/"
ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
JOBS = """
repository = "memory"
engine = "local"
[schedule.jobs."it's nightly"]
service = "gc"
cron = "30 2 * * *"
"""


@pytest.fixture
def steps(run: Run, lake: MemoryLake) -> NextSteps:
    return steps_over(lake, run)


@pytest.fixture
def jobs(home: Path) -> Path:
    file = home / "nessie-gc.toml"
    file.write_text(JOBS, encoding="utf-8")
    return file


# ---- the first file -----------------------------------------------------------------------------------
@proposes("cli/configuration.py: *")
def test_a_first_file_is_checked_and_tried(steps: NextSteps, run: Run, lake: MemoryLake) -> None:
    made = run("init", "it's mine.toml", "--repository", "memory", "--engine", "local")
    steps.follow(made, "check")
    assert "would delete" in steps.follow(made, "gc --dry-run").stdout
    assert ORPHAN in lake.paths()


@proposes("plugins/registry.py: plugins")
def test_a_connector_that_is_not_installed_leads_to_those_that_are(steps: NextSteps, run: Run) -> None:
    assert "nessie-gc-memory" in steps.follow(run("gc", "--require-plugin", "zzz"), "plugins").stdout


def test_wrong_usage_leads_to_the_help(run: Run) -> None:
    said = re.search(r"\(see (nessie-gc .+)\)$", run("schedule", "list", "--now").stderr.strip())
    assert said is not None
    assert 0 == run(*shlex.split(said[1])[1:]).exit_code


def test_what_is_gone_is_set_aside_with_the_option_that_is_named(run: Run, lake: MemoryLake) -> None:
    ghost = lake.table("db.it's", location="memory://warehouse/db/ghost").append("a.parquet")
    lake.commit("main", put(ghost.version))
    for path in ghost.needed:
        lake.objects.delete(path)
    said = run("gc", *COLLECT, "-c", "1")
    named = re.search(r"set them aside with (--set-aside .+)$", said.stdout, re.MULTILINE)
    assert (1, True) == (said.exit_code, named is not None), said.stdout
    assert 0 == run("gc", *COLLECT, "-c", "1", *shlex.split(named[1])).exit_code  # type: ignore[index]
    assert ORPHAN not in lake.paths()


# ---- health -------------------------------------------------------------------------------------------
@pytest.fixture
def plain(expiry_lake: ExpiryLake, run: Run) -> NextSteps:
    """A plain catalog on a disk, whose table has snapshots that can expire."""
    expiry_lake.table("db.it's", history__expire__max_snapshot_age_ms="0")
    expiry_lake.age()
    time.sleep(0.01)
    return NextSteps(run=run, files=lambda: expiry_lake.files("db"), env={"NESSIE_GC_ENGINE": "local"})


@proposes("services/health/examination.py: gc", "services/health/examination.py: expire-snapshots *")
@pytest.mark.parametrize("then", ["expire-snapshots", "gc"])
def test_what_is_due_of_a_plain_catalog_is_done(plain: NextSteps, run: Run, expiry_lake: ExpiryLake, then: str) -> None:
    command = ["health", "--repository", "iceberg-catalog", "-u", expiry_lake.uri, "-r", "catalog_name=prod"]
    found = run(*command, "--snapshot-threshold", "1")
    assert "6 of 7 snapshots can expire" in found.stdout
    plain.follow(found, then)
    assert (1 if then == "expire-snapshots" else 7) == len(expiry_lake.snapshots("db.it's"))
    if then == "gc":
        assert "due: the last sweep" not in run(*command).stdout


@proposes("services/health/examination.py: expire-snapshots --commit-to * *")
def test_what_is_due_of_a_branch_is_done(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryRepository, "commit_metadata", CommittingMemory.commit_metadata, raising=False)
    for name in ("before_commit", "after_commit"):
        monkeypatch.setattr(MemoryRepository, name, staticmethod(lambda: None), raising=False)
    monkeypatch.setattr(MemoryRepository, "messages", (), raising=False)
    with LocalEngine(workers=1) as engine:
        lake = MemoryBranchLake(tmp_path / "wh" / "lake", engine)
        lake.lake.now = datetime.now(UTC) - timedelta(days=40)
        for _ in range(4):
            lake.write("db.it's")
        lake.lake.now = None
        lake.write("db.it's")
        steps = NextSteps(run=run, files=lake.files, env={"NESSIE_GC_ENGINE": "local", "NESSIE_GC_CUTOFF": ".*=P10D"})
        found = run("health", "--repository", "memory", "-r", f"lake={lake.lake.name}", "--snapshot-threshold", "1")
        steps.follow(found, "expire-snapshots --commit-to")
        assert 1 == len(lake.listed("db.it's"))
        lake.close()


# ---- unreferenced assets ------------------------------------------------------------------------------
@proposes("services/assets/identify.py: identify-unreferenced()")
def test_a_table_of_assets_that_is_not_there_is_filled_first(steps: NextSteps, run: Run, lake: MemoryLake) -> None:
    of_table = ("--table-catalog", "memory", "--table", "default.gc.not_there_yet", "--no-own-branch")
    delete = ("delete-unreferenced", *COLLECT, *of_table, "--seen-count", "1")
    steps.follow(run(*delete), "identify-unreferenced")
    assert 0 == run(*delete).exit_code
    assert ORPHAN not in lake.paths()


# ---- schedules ----------------------------------------------------------------------------------------
@proposes("services/schedule/asking.py: schedule resume *", "cli/schedule_told.py: schedule list")
def test_a_paused_job_is_resumed(steps: NextSteps, run: Run, jobs: Path) -> None:
    assert 0 == run("schedule", "pause", "it's nightly").exit_code
    paused = run("schedule", "trigger", "it's nightly")
    steps.follow(paused, "schedule resume")
    assert 0 == run("schedule", "trigger", "it's nightly").exit_code
    listed = steps.follow(run("schedule", "history", "--job", "weekly"), "schedule list")
    assert "it's nightly" in listed.stdout


@proposes("cli/schedule_told.py: schedule history")
def test_a_run_that_is_not_there_leads_to_those_that_are(steps: NextSteps, run: Run, jobs: Path) -> None:
    steps.follow(run("schedule", "history", "--run", str(UUID(int=7))), "schedule history")


@proposes("services/schedule/job_options.py: * --help")
def test_an_option_that_a_service_lacks_leads_to_its_help(steps: NextSteps, run: Run, jobs: Path) -> None:
    jobs.write_text(JOBS + "[schedule.jobs.\"it's nightly\".options]\nzorder-columns = 'x'\n", encoding="utf-8")
    assert "--default-cutoff" in steps.follow(run("schedule", "list"), "gc --help").stdout


@proposes(
    "templates/schedule.html: schedule history *",
    "templates/schedule.html: schedule list",
    "templates/schedule.html: schedule run",
    "templates/schedule.html: list-quarantine",
    "templates/schedule.html: restore --everything",
)
def test_what_the_page_of_a_schedule_names_runs_where_its_file_is(
    steps: NextSteps, run: Run, lake: MemoryLake, jobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MOST_JOBS", "MOST_MORE_JOBS"):
        monkeypatch.setattr(figures, limit, 1)
    page = jobs_page(lake, run)
    more = {"schedule run": ("--once",)}
    named = {shlex.join(shlex.split(unescape(each))[1:]) for each in re.findall(r"<code>(nessie-gc .+?)</code>", page)}
    beginnings = {" ".join(each.split()[:2]): each for each in named}
    assert {"schedule history", "schedule list", "schedule run", "list-quarantine", "restore --everything"} == set(
        beginnings
    )
    for beginning, command in beginnings.items():
        steps.follow(f"'nessie-gc {command}'", beginning, more=more.get(beginning, ()))


def jobs_page(lake: MemoryLake, run: Run) -> str:
    """The page of a schedule with a run, an overdue job, more jobs than it lists, and more in quarantine."""
    assert 0 == run("schedule", "resume", "it's nightly").exit_code
    assert 0 == run("gc", *COLLECT, "--quarantine", PLACE).exit_code
    url = f"sqlite:///{os.environ['XDG_DATA_HOME']}/nessie-gc/live-sets.db"
    with JdbcLiveSetStore.from_options({"url": url}) as live_sets:
        (held,) = live_sets.quarantines()
    with JdbcScheduleStore.from_options({"url": url}) as store:
        (job,) = store.jobs("default")
        now = datetime.now(UTC)
        then = Occasion(due=now, starts=now)
        begun = JobRun(
            id=uuid4(), job=job.name, service="gc", occasion=then, status=RunStatus.RUNNING, started=now, ended=None
        )
        store.set_next("default", job.name, seen=job.next, then=then)
        assert store.start_run("default", begun, then=job.next, lease=timedelta(hours=1))
        assert store.finish_run("default", replace(begun, status=RunStatus.SUCCEEDED, ended=now))
        found = figures_of(store, "default", now=now, quarantines=[held] * (MOST_QUARANTINES + 1))
    late = replace(job, next=replace(then, starts=now - timedelta(hours=1)))
    return render_schedule(replace(found, jobs=[late] * 3))


@proposes("templates/page.html: identify-unreferenced --table * *")
def test_what_the_page_of_a_table_of_assets_names_fills_it(steps: NextSteps, run: Run, lake: MemoryLake) -> None:
    threshold = Threshold(seen_count=10, seen_apart=None, where=None)
    page = render_page(AssetFigures(table="default.gc.assets", branch=None, threshold=threshold))
    (command,) = re.findall(r"<code>(nessie-gc .+?)</code>", page)
    set_up = 'repository = "memory"\nengine = "local"\ntable-catalog = "memory"\nown-branch = false\n'
    Path("nessie-gc.toml").write_text(set_up, encoding="utf-8")
    steps.follow(f"'{unescape(command)}'", "identify-unreferenced")
