from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from cli_runs import Run, one_line
from nessie_gc_jdbc import JdbcScheduleStore

from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.model.schedule import JobRun, Occasion, RunStatus
from nessie_gc_core.model.text import time_text
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.page.render import page_templates
from nessie_gc_core.services.schedule.scheduler import Scheduler
from nessie_gc_core.testing.servers import free_ports

JOBS = """
jdbc-url = "sqlite:///schedule.db"
[schedule]
time-zone = "Europe/Berlin"
[schedule.jobs.nightly]
service = "gc"
cron = "30 2 * * *"
[schedule.jobs.nightly.options]
default-cutoff = "P30D"
[schedule.jobs.often]
service = "health"
every = "PT6H"
"""
NOW = datetime.now(UTC)


def digest_of(job: str) -> str:
    table = tomllib.loads(JOBS)
    file = ConfigFile(schedule=table["schedule"], options={"jdbc-url": table["jdbc-url"]})
    return JobDigests(installed()).digest(file, job) or ""


@pytest.fixture(autouse=True)
def file(home: Path) -> Path:
    file = home / "nessie-gc.toml"
    file.write_text(JOBS)
    return file


def put_run(**changes: object) -> JobRun:
    """A run of the job ``nightly`` that has ended, as a scheduler leaves it."""
    occasion = Occasion(due=NOW, starts=NOW)
    made = {"id": uuid4(), "job": "nightly", "service": "gc", "occasion": occasion, "status": RunStatus.SUCCEEDED}
    run = JobRun(**{**made, "started": NOW, "ended": NOW + timedelta(seconds=75), **changes})  # type: ignore[arg-type]
    with JdbcScheduleStore.from_options({"url": "sqlite:///schedule.db"}) as store:
        (job,) = (job for job in store.jobs("default") if job.name == run.job)
        store.set_next("default", run.job, seen=job.next, then=run.occasion)
        running = JobRun(**{**made, **changes, "status": RunStatus.RUNNING, "started": run.started})  # type: ignore[arg-type]
        assert store.start_run("default", running, then=job.next, lease=timedelta(hours=1))
        assert store.finish_run("default", run)
    return run


def test_jobs_are_listed_with_when_they_are_due(run: Run) -> None:
    listed = run("schedule", "list", "--time-zone", "UTC")
    assert 0 == listed.exit_code, listed.stderr
    header, nightly, often = listed.stdout.splitlines()
    assert "job      service  when" == header[:22]
    assert "30 2 * * * (at 02:30 every day, Europe/Berlin)" in nightly
    assert ["waiting", "waiting"] == [line.split()[-1] for line in (nightly, often)]
    body = json.loads(run("schedule", "list", "--json").stdout)
    assert ["nightly", "often"] == [job["job"] for job in body["jobs"]]
    assert {"state": "waiting", "paused": False, "last": None, "run": None}.items() <= body["jobs"][0].items()


def test_times_are_shown_in_the_time_zone_of_the_schedule_unless_another_one_is_given(run: Run) -> None:
    def nightly(*more: str) -> str:
        return run("schedule", "list", *more).stdout.splitlines()[1]

    assert re.search(r" \d{4}-\d\d-\d\d 02:30:00\+0[12]:00 ", nightly())
    assert re.search(r" \d{4}-\d\d-\d\d 0[01]:30:00\+00:00 ", nightly("--time-zone", "UTC"))
    run("schedule", "resume", "nightly")
    put_run()
    for more, zone in (((), ZoneInfo("Europe/Berlin")), (("--time-zone", "Asia/Tokyo"), ZoneInfo("Asia/Tokyo"))):
        assert time_text(NOW, zone) in run("schedule", "history", *more).stdout
        assert f"times are {zone}<" in run("schedule", "page", "-O", "-", *more).stdout


def test_s27_jobs_that_another_file_has_defined_are_named_by_the_list(run: Run, file: Path) -> None:
    run("schedule", "pause", "nightly")
    assert "" == run("schedule", "list").stderr
    file.write_text('allow = ["s3://lake/"]' + JOBS)
    (said,) = run("schedule", "list").stderr.splitlines()
    assert "these jobs of the schedule 'default' are not the same in this file and in the store" in said
    assert said.endswith("defined them: nightly, often")


def test_a_job_is_paused_resumed_and_triggered(run: Run) -> None:
    assert "nightly is paused\n" == run("schedule", "pause", "nightly").stdout
    assert "paused" in run("schedule", "list").stdout.splitlines()[1]
    assert "the job 'nightly' is paused" in one_line(run("schedule", "trigger", "nightly"))
    assert "nightly is no longer paused\n" == run("schedule", "resume", "nightly").stdout
    triggered = run("schedule", "trigger", "nightly", "often")
    assert "nightly will start as soon as a scheduler sees it" == triggered.stdout.splitlines()[0]
    assert ["due", "due"] == [line.split()[-1] for line in run("schedule", "list").stdout.splitlines()[1:]]


@pytest.mark.parametrize("command", [("trigger", "often"), ("pause", "often"), ("resume", "often"), ("history",)])
def test_a_database_with_which_no_scheduler_has_begun_is_named(run: Run, command: tuple[str, ...]) -> None:
    (said,) = run("schedule", *command).stderr.splitlines()
    assert "no scheduler has begun with the database sqlite:///schedule.db yet" in said
    run("schedule", "resume", "nightly")  # the store knows the jobs, as if a scheduler had begun
    assert "" == run("schedule", *command).stderr


@pytest.mark.parametrize("command", ["trigger", "pause", "resume"])
def test_of_several_jobs_of_which_one_is_unknown_none_is_changed(run: Run, command: str) -> None:
    refused = run("schedule", command, "often", "weekly")
    assert "there is no job 'weekly'; there are: nightly, often" == one_line(refused)
    assert "waiting" in run("schedule", "list").stdout.splitlines()[2]


@pytest.mark.parametrize(("lease", "state"), [(timedelta(hours=1), "running"), (timedelta(0), "lost")])
def test_a_run_whose_lease_has_expired_is_listed_as_lost(run: Run, lease: timedelta, state: str) -> None:
    run("schedule", "trigger", "often")  # the store knows the job
    with JdbcScheduleStore.from_options({"url": "sqlite:///schedule.db"}) as store:
        (job,) = (job for job in store.jobs("default") if job.name == "often")
        assert job.next is not None
        going = {"id": uuid4(), "job": "often", "service": "health", "status": RunStatus.RUNNING, "started": NOW}
        assert store.start_run("default", JobRun(occasion=job.next, **going), then=job.next, lease=lease)  # type: ignore[arg-type]
    body = json.loads(run("schedule", "list", "--json").stdout)
    assert ["waiting", state] == [job["state"] for job in body["jobs"]]
    assert state == run("schedule", "list").stdout.splitlines()[2].split()[-1]


def test_the_program_loads_no_schedule_before_one_is_asked_for() -> None:
    asks = "import sys, nessie_gc_core.cli.main; print([name for name in sys.modules if '.services.schedule' in name])"
    assert (
        "[]" == subprocess.run([sys.executable, "-c", asks], check=True, capture_output=True, text=True).stdout.strip()
    )


def test_nothing_runs_before_it_is_due(run: Run) -> None:
    ran = run("schedule", "run", "--once")
    assert (0, "nothing was run: nothing is due\n") == (ran.exit_code, ran.stdout)
    assert {"format": 1, "runs": [], "exit_code": 0} == json.loads(run("schedule", "run", "--once", "--json").stdout)


def test_history_shows_runs_and_one_with_its_report(run: Run) -> None:
    assert "there are no such runs\n" == run("schedule", "history").stdout
    assert "the file has no job 'nihgtly'" in run("schedule", "history", "--job", "nihgtly").stdout
    run("schedule", "pause", "nightly", "often")  # the store knows the jobs
    run("schedule", "resume", "nightly")
    good = put_run(report='{"deleted": {"files": 3}}', numbers={"deleted.files": 3}, exit_code=0)
    bad = put_run(status=RunStatus.FAILED, error="it failed\x1b[31m", started=NOW - timedelta(days=9))
    lines = run("schedule", "history").stdout.splitlines()
    assert [str(good.id), str(bad.id)] == [line.split()[0] for line in lines[1:]]
    assert ("1 min 15 s" in lines[1], "it failed\\x1b[31m" in lines[2]) == (True, True)
    for options, found in (
        (["--run-status", "failed"], [bad]),
        (["--since", "P7D"], [good]),
        (["--since", "P999999D"], [good, bad]),  # before the calendar begins
        (["--since", "P730000D"], [good, bad]),  # soon after
        (["--job", "often"], []),
        (["--limit", "1"], [good]),
    ):
        body = json.loads(run("schedule", "history", "--json", *options).stdout)
        assert [str(each.id) for each in found] == [each["run"] for each in body["runs"]]
        assert all("report" not in each for each in body["runs"])
    body = json.loads(run("schedule", "history", "--run", good.id).stdout)
    assert ({"deleted": {"files": 3}}, 75.0) == (body["report"], body["seconds"])


@pytest.mark.parametrize("named", ["nothing", str(uuid4())])
def test_a_run_that_is_unknown_is_refused(run: Run, named: str) -> None:
    assert named in one_line(run("schedule", "history", "--run", named))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "nessie-gc.toml has no job; write a table [schedule.jobs.NAME] for each"),
        (JOBS.replace("30 2 * * *", "0 0 30 2 *"), "[schedule.jobs.nightly]: 'cron' '0 0 30 2 *' is not a cron"),
        (JOBS.replace("default-cutoff", "default-cut"), "unknown key 'default-cut'; did you mean 'default-cutoff'?"),
        ('store = "memory"' + JOBS.replace("jdbc-url", "#"), "--store memory keeps a live set for one process only"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_one_line(run: Run, file: Path, text: str, said: str) -> None:
    file.write_text(text)
    listed = run("schedule", "list")
    assert said in one_line(listed)
    assert 2 == listed.exit_code


def test_without_a_file_there_is_no_schedule(run: Run, file: Path) -> None:
    file.unlink()
    assert "a schedule is read from a file: name it with --config" in one_line(run("schedule", "list"))


def test_the_options_of_a_job_count_only_for_its_runs(run: Run) -> None:
    def cutoff(**env: str) -> str:
        shown = json.loads(run("config", "show", "--json", env=env).stdout)
        return next((each["value"] for each in shown["settings"] if each["name"] == "default-cutoff"), "")

    nightly = {"NESSIE_GC_SCHEDULED_JOB": "nightly", "NESSIE_GC_SCHEDULED_DIGEST": digest_of("nightly")}
    assert ("", "P30D") == (cutoff(), cutoff(**nightly))
    assert "P3D" == cutoff(**nightly, NESSIE_GC_DEFAULT_CUTOFF="P3D")


@pytest.mark.parametrize(
    "changed",
    [
        "",
        JOBS.replace("P30D", "P3D"),
        JOBS.replace("jobs.nightly", "jobs.daily"),
        JOBS.replace("Berlin", "Paris"),
        'allow = ["s3://all/"]' + JOBS,
        JOBS + '[repository]\nuri = "http://other:19120/api/v2"',
        None,
    ],
)
def test_s27_a_run_whose_job_is_no_longer_what_the_scheduler_read_is_refused(
    run: Run, file: Path, changed: str | None
) -> None:
    env = {"NESSIE_GC_SCHEDULED_JOB": "nightly", "NESSIE_GC_SCHEDULED_DIGEST": digest_of("nightly")}
    file.unlink() if changed is None else file.write_text(changed)
    refused = run("gc", "--repository", "memory", "--engine", "local", "--inmemory", env=env)
    assert 2 == refused.exit_code
    if changed is not None:
        assert "the job 'nightly' in nessie-gc.toml is not what its scheduler has read" in one_line(refused)


@pytest.mark.parametrize("option", ["--jdbc-url=sqlite://", "--disable-plugin=x", "--store=jdbc"])
def test_options_that_would_not_reach_the_runs_are_refused(run: Run, option: str) -> None:
    name = option.partition("=")[0]
    assert f"{name} would not reach the runs; set it in the file" in one_line(run("schedule", "run", "--once", option))


def test_log_lines_are_json_objects_on_request(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESSIE_GC_SCHEDULED_JOB", "nightly")
    monkeypatch.setenv("NESSIE_GC_SCHEDULED_DIGEST", digest_of("nightly"))
    made = run("gc", "--repository", "memory", "--engine", "local", "--dry-run", "--log-format", "json")
    lines = [json.loads(line) for line in made.stderr.splitlines()]
    assert lines
    for line in lines:
        assert {"time", "level", "logger", "live_set", "message", "job"} == set(line)
        assert "nightly" == line["job"]
        assert datetime.fromisoformat(line["time"]) >= NOW


def test_log_lines_of_a_scheduled_run_begin_with_its_job(run: Run) -> None:
    env = {"NESSIE_GC_SCHEDULED_JOB": "nightly", "NESSIE_GC_SCHEDULED_DIGEST": digest_of("nightly")}
    made = run("gc", "--repository", "memory", "--engine", "local", "--dry-run", env=env)
    lines = made.stderr.splitlines()
    assert lines
    assert [] == [line for line in lines if " [nightly " not in line]


def test_a_page_has_the_days_that_are_asked_for_or_those_of_the_schedule(run: Run, file: Path) -> None:
    assert "No run has started in 400 days." in run("schedule", "page", "-O", "-", "--days", "400").stdout
    file.write_text(JOBS.replace("[schedule]", "[schedule]\npage-days = 90"))
    assert "No run has started in 90 days." in run("schedule", "page", "-O", "-").stdout
    assert "No run has started in 7 days." in run("schedule", "page", "-O", "-", "--days", "7").stdout
    assert 2 == run("schedule", "page", "--days", "401").exit_code


def test_a_scheduler_that_cannot_make_its_page_says_so_at_once(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text(JOBS.replace("[schedule]", "[schedule]\npage-port = 0"))
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page_templates.cache_clear()
    refused = run("schedule", "run")
    assert 2 == refused.exit_code
    assert "pip install 'nessie-gc-core[report]'" in refused.stderr


def test_the_page_that_is_served_says_that_the_file_cannot_be_used(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (port,), seen = free_ports(1), list[str]()
    file.write_text(JOBS.replace("[schedule]", f"[schedule]\npage-port = {port}"))

    def run_forever(scheduler: Scheduler) -> None:
        file.write_text("[schedule]\nno-such-thing = 1")
        while scheduler.source.problem is None:
            scheduler.source.look()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=10) as answer:
            seen.append(answer.read().decode())

    monkeypatch.setattr(Scheduler, "run_forever", run_forever)
    assert 0 == run("schedule", "run").exit_code
    assert "No run starts, because the scheduler cannot use its file: " in seen[0]
    assert "no-such-thing" in seen[0]


def test_a_page_is_written_to_a_file_or_to_standard_output(run: Run, home: Path) -> None:
    assert "wrote schedule.html\n" == run("schedule", "page").stdout
    assert "wrote schedule.html\n" == run("schedule", "page").stdout, "the next one replaces it"
    written = (home / "schedule.html").read_text()
    assert written.startswith("<!DOCTYPE html>")
    assert run("schedule", "page", "-O", "-").stdout.startswith("<!DOCTYPE html>")
    assert "cannot write no/folder.html: No such file or directory" == one_line(
        run("schedule", "page", "-O", "no/folder.html")
    )
