"""The table ``[schedule]``."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from nessie_gc_core.cli.command import known_options
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import ScheduleDefinition

NOW = datetime(2026, 3, 2, tzinfo=UTC)


def read(text: str) -> ScheduleDefinition:
    file = ConfigFile(name="x.toml", schedule=tomllib.loads(text).get("schedule", {}))
    return ScheduleDefinition.read(file, JobDigests(installed()))


def test_a_job_has_a_service_a_timing_and_options() -> None:
    found = read(
        """
        [schedule]
        time-zone = "Europe/Berlin"
        quiet = ["Mon-Fri 08:00-18:00"]
        [schedule.jobs.nightly]
        service = "gc"
        cron = "30 9 * * *"
        retries = 2
        [schedule.jobs.nightly.options]
        default-cutoff = "P30D"
        [schedule.jobs.often]
        service = "health"
        every = "PT6H"
        quiet = []
        """
    )
    nightly, often = found.jobs["nightly"], found.jobs["often"]
    assert ("default", "gc", 2, {"default-cutoff": "P30D"}) == (
        found.name,
        nightly.service,
        nightly.settings.retries,
        nightly.options,
    )
    next_ = nightly.after(NOW)
    assert (datetime(2026, 3, 2, 8, 30, tzinfo=UTC), datetime(2026, 3, 2, 17, tzinfo=UTC)) == (next_.due, next_.starts)
    assert datetime(2026, 3, 2, 6, tzinfo=UTC) == often.after(NOW).starts


@pytest.mark.parametrize(
    "change",
    ['cron = "31 2 * * *"', 'cron = "30 2 * * *"\njitter = "PT1M"', 'cron = "30 2 * * *"\nquiet = ["01:00-02:00"]'],
)
def test_the_definition_of_a_job_differs_if_it_is_due_at_other_times(change: str) -> None:
    job = '[schedule.jobs.a]\nservice = "gc"\n'
    before = read(f'{job}cron = "30 2 * * *"\nretries = 3').jobs["a"].scheduled(NOW).definition
    assert before == read(f'{job}cron = "30 2 * * *"').jobs["a"].scheduled(NOW).definition
    assert before != read(job + change).jobs["a"].scheduled(NOW).definition


def test_blanks_in_a_cron_expression_make_no_other_definition() -> None:
    jobs = [f'[schedule.jobs.a]\nservice = "gc"\ncron = "{cron}"' for cron in ("30 2 * * *", " 30  2 * *\t* ")]
    assert 1 == len({read(job).jobs["a"].scheduled(NOW).definition for job in jobs})


@pytest.mark.parametrize(
    ("job", "resumes"),
    [
        ('service = "sweep"', True),
        ('service = "expire"', True),
        ('service = "sweep"\noptions = { resume = false }', False),
        ('service = "gc"', False),
        ('service = "gone"', False),
    ],
)
def test_a_service_that_can_resume_does_unless_the_file_says_otherwise(job: str, resumes: bool) -> None:
    assert resumes is read(f'[schedule.jobs.a]\nevery = "P1D"\n{job}').jobs["a"].resumes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "x.toml has no job; write a table"),
        ("[schedule]\njobs = 3", "x.toml has no job"),
        ("[schedule.jobs]\na = 3", "x.toml has no job"),
        ("[schedule]\nparalel = 2\n[schedule.jobs.a]", r"x.toml: \[schedule\]: unknown option 'paralel'"),
        ("[schedule.jobs.a]\nevery = 'PT1H'", r"x.toml: \[schedule.jobs.a\]: 'service' is missing"),
        ("[schedule.jobs.a]\nservice = 'gc'", "exactly one of 'cron' and 'every'"),
        ("[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\ncron = '@daily'", "exactly one of 'cron' and 'every'"),
        ("[schedule.jobs.a]\nservice = 'gc'\ncron = '0 0 31 2 *'", "is not a cron expression: bad day-of-month"),
        ("[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\nquiet = ['00:00-00:00']", "covers the whole week"),
        ("[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\noptions = 3", "'options' must be a table"),
        ("[schedule]\ntime-zone = 'Mars/Olympus'\n[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'", "is not known"),
        (
            "[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\ntime-limit = 'soon'",
            "option 'time-limit' cannot be 'soon'",
        ),
        ("[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\nmax_latenes = 'PT1H'", "did you mean 'max-lateness'"),
        (
            "[schedule]\nwebhook-on = ['BROKEN']\n[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'",
            r"x.toml: \[schedule\]: 'webhook-on' has an unknown status 'BROKEN'",
        ),
        (
            "[schedule]\nquiet = ['8-18']\n[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'",
            r"x.toml: \[schedule\]: 'quiet' '8-18' is not a time of the week",
        ),
        (
            "[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\noptions = { older-than = 'P90D' }",
            r"x.toml: \[schedule.jobs.a\]: the service 'gc' has no option 'older-than'",
        ),
        (
            "[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\noptions = { retain-last = 3 }",
            "the service 'gc' has no option 'retain-last'",
        ),
        (
            "[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\noptions = { dry-run = 'perhaps' }",
            r"\[schedule.jobs.a\]: option 'dry-run' cannot be 'perhaps'",
        ),
        (
            "[schedule.jobs.a]\nservice = 'gc'\nevery = 'PT1H'\noptions = { allow = ' ' }",
            "the option 'allow' is empty",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_table(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        read(text)
    assert 1 == len(str(caught.value).splitlines())


def test_options_at_the_top_have_to_fit_the_services_of_the_jobs() -> None:
    table = {"jobs": {"a": {"service": "gc", "every": "PT1H"}}}
    file = ConfigFile(name="x.toml", options={"dry-run": "yes please", "retain-last": "all"}, schedule=table)
    with pytest.raises(ConfigurationError, match=r"x\.toml: option 'dry-run' cannot be 'yes please'"):
        ScheduleDefinition.read(file, JobDigests(installed()))


def test_health_reads_the_options_of_a_job_for_which_it_looks() -> None:
    job = "[schedule.jobs.a]\nservice = 'prune'\nevery = 'PT1H'\nWHEN\noptions = { snapshot-threshold = 3 }"
    with pytest.raises(ConfigurationError, match="the service 'prune' has no option 'snapshot-threshold'"):
        read(job.replace("WHEN", ""))
    assert {"a"} == read(job.replace("WHEN", "when = ['small-files']")).jobs.keys()


def test_the_example_is_a_schedule_whose_options_exist() -> None:
    file = ConfigFile.read(Path(__file__).parents[4] / "examples" / "schedule.toml", known_options(cli))
    found = ScheduleDefinition.read(file, JobDigests(installed()))
    assert {"collect": "gc", "health": "health", "prune": "prune", "tags": "autotag"} == {
        name: job.service for name, job in found.jobs.items()
    }


@pytest.mark.parametrize(
    ("given", "expected"), [("expire", "sweep"), ("identify", "mark"), ("prune", "prune"), ("not-there", "not-there")]
)
def test_a_job_has_its_service_by_its_own_name_and_not_by_an_alias(given: str, expected: str) -> None:
    found = read(f'[schedule.jobs.a]\nservice = "{given}"\nevery = "PT1H"').jobs["a"]
    assert [expected] * 2 == [found.service, found.scheduled(NOW).service]


def test_an_unknown_job_is_refused_with_those_there_are() -> None:
    found: Any = read('[schedule.jobs.a]\nservice = "gc"\nevery = "PT1H"')
    with pytest.raises(ConfigurationError, match="there is no job 'b'; there are: a"):
        found.check(["a", "b"])
